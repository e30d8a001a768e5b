"""The JSON Schemas that the program prints, against the readers of the program: both accept and refuse the same files."""

import copy
import json
import math
import random
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import jsonschema
import numpy as np
import pytest

import rhograd
from rhograd import _rhograd

ROOT = Path(__file__).resolve().parents[3]
RUNS = ROOT / "tests" / "golden" / "runs"
FORMATS = ["schema", "model", "statement", "log"]
MUTANTS = 1000

#: What readers check and a JSON Schema cannot say, by name, with the words of the readers. A mutant that is refused for one of these alone
#: is not counted. Other ways to write a file are not made: a whole number with a point (`1.0`), a list of an object's values in the place of
#: the object, `{"row": null}` for a name, a key that stands twice, a number too large for a double.
BEYOND = {
    "schema": {
        "order and size of bounds": "bounds are inverted, equal or not finite",
        "values that differ in blanks alone": r"declares \".*\" twice",
        "other among the values": '"other" is not one of the values',
        "labels of the target among its column": "label is not among the declared values|positive.: is missing|fewer than 3 declared"
        "|declares [0-9]+ labels, more than|has no meaning for a target|equals \"positive\"",
        "a target that is used": "lists the target",
        "a feature that is left": "declares no feature",
        "the unit beside other columns": "names the target, which|which is a feature|released to protect",
        "weights beside other columns and labels": "names the target|names a feature|which is not declared|is not the same|offset"
        "|larger than any number",
        "public columns beside others": "is public, and",
        "a name that can be seen, in bytes": "is empty, too long or has control characters",
        "the words of a released schema": "states no cost, or other words than its numbers",
    },
    "model": {
        "order of bounds, edges, and how many coefficients": "bounds, scale or coefficients are unusable",
        "how many waves": "do not fit the columns",
        "digits of an exact number": "a rho has too many digits|has too many digits to be stored",
    },
    "statement": {"digits of an exact number": "a rho has too many digits|has too many digits to be stored"},
    "log": {},
}

#: The last thing that is checked of a model: all else was read.
DIGEST = "the digest does not belong to the content"


def validator(kind):
    schema = json.loads(_rhograd.json_schema(kind))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def problem(kind, document):
    """What the reader says against a document; None where it takes it."""
    try:
        _rhograd.read_format(kind, json.dumps(document))
    except rhograd.Error as error:
        return None if DIGEST in str(error) else str(error)
    return None


def beyond(kind, message):
    return next((name for name, words in BEYOND[kind].items() if re.search(words, message)), None)


# --- documents


def by_hand():
    """Schemas with keys that no file beside the tests has."""
    released = {
        "adjacency": "add-remove", "rho": "0.1", "approximate_delta": "1e-7", "epsilon": "2", "delta": "1e-6",
        "ledger": [{"sequence": 3, "hash": "ab"}],
    }  # fmt: skip
    cost = "This schema is 1e-7-approximate 0.1-zCDP, and hence (2, 1e-6)-differentially private, with respect to "
    released["statement"] = cost + "adding or removing one row."
    numeric, categorical = {"type": "numeric", "lower": 0, "upper": 1.5}, {"type": "categorical", "values": ["a", "b", ""]}
    label = {"name": "a", "task": "classification", "target": "y", "positive": "1", "columns": {"x": numeric, "c": {**categorical, "other": "b"}}}
    number = {"name": "a", "task": "regression", "target": "y", "target_lower": -1, "target_upper": 1e3, "columns": {"c": categorical}}
    person = {**released, "unit": {"person": {"column": "id"}}}
    person["statement"] = cost + 'adding or removing all rows of one person (column "id").'
    unit = {"column": "id", "persons": 40, "max_rows": 5, "estimand": "rows"}
    return [
        {"$schema": "rhograd-schema.json", **label, "negative": "0", "rows": 100, "ignore": ["z"], "draft": True},
        {**label, "released": released, "unit": None},
        {**label, "released": {**released, "unit": "row"}, "draft": False, "rows": None, "negative": None},
        {**label, "unit": unit},
        {**number, "unit": {"column": "id"}, "released": person},
        {**number, "positive": None, "rows": 0, "unit": {"column": "id", "persons": None, "max_rows": None, "estimand": None}, "rows": None},
        {"name": "a", "task": "classification", "target": "c", "columns": {"x": numeric, "c": categorical}},
        {**label, "columns": {"x": {**numeric, "public": True}, "c": {**categorical, "public": False}}},
    ]


def schemas():
    files = [*ROOT.glob("datasets/*.schema.json"), *RUNS.glob("*.schema.json")]
    pages = [block for page in sorted(ROOT.glob("docs/*.md")) for block in re.findall(r"^```json\n(.*?)^```", page.read_text(), re.M | re.S)]
    shown = [json.loads(block) for block in pages if '"task"' in block]
    assert len(files) >= 7 and len(shown) >= 5
    return [json.loads(file.read_text()) for file in sorted(files)] + shown + by_hand()


def trained(tmp_path):
    """Models of families and forms that no golden file has."""
    rng = np.random.default_rng(3)
    X = {"x": rng.uniform(0, 9, 900).round(2), "c": rng.choice(["u", "v"], 900), "id": rng.integers(0, 300, 900).astype(str)}
    y, kind, count = (X["x"] > 4).astype(int), rng.choice(["a", "b", "c"], 900), rng.integers(0, 5, 900)
    bounds = {"x": (0, 9), "c": ["u", "v"]}
    columns = {"x": X["x"], "c": X["c"]}
    common = {"epsilon": 3, "bounds": bounds, "seed": 5}
    label, number = {**common, "classes": [0, 1]}, {**common, "target_bounds": (0, 9)}
    estimators = [
        (rhograd.DPLogisticRegression(**label, features="additive", evaluate_budget=0.1), columns, y),
        (rhograd.DPLogisticRegression(**label, unit="id", persons=300), X, y),
        (rhograd.DPLogisticRegression(**{**common, "classes": ["a", "b", "c"]}), columns, kind),
        (rhograd.DPLinearSVC(**label, adjacency="replace-one", rows=900), columns, y),
        (rhograd.DPHuberRegressor(**number), columns, X["x"]),
        (rhograd.DPQuantileRegressor(**number), columns, X["x"]),
        (rhograd.DPPoissonRegressor(**number, ledger=tmp_path / "l.sqlite", dataset="a"), columns, count),
    ]  # fmt: skip
    models = [json.loads(estimator.fit(X, y).model_.text) for estimator, X, y in estimators]
    rich = json.loads(rhograd.DPLogisticRegression(**label, features="rich").fit(columns, y).model_.text)
    # Three waves are read like four hundred.
    together = rich["together"]
    together["waves"]["frequencies"] = [row[:3] for row in together["waves"]["frequencies"]]
    together["waves"]["offsets"], together["coefficients"] = together["waves"]["offsets"][:3], together["coefficients"][:3]
    for feature in rich["features"]:
        assert feature["type"] != "numeric"
    return [*models, rich]


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    golden = [json.loads(file.read_text()) for file in sorted(RUNS.glob("*/*.model.json"))]
    assert len(golden) > 40
    return golden, trained(tmp_path_factory.mktemp("models"))


def statement_of(model):
    return {**model["statement"], **({"reshaped": model["reshaped"]} if "reshaped" in model else {})}


@pytest.fixture(scope="module")
def documents(models):
    golden, made = models
    lines = [json.loads(line) for file in sorted(RUNS.glob("*/*.log.jsonl")) for line in file.read_text().splitlines()]
    statements = [statement_of(model) for model in [*golden, *made]]
    statements += Examples(json.loads(_rhograd.json_schema("statement"))).whole()
    return {"schema": schemas(), "model": [*golden, *made * 4], "statement": statements, "log": lines}


class Examples:
    """The smallest statements that a JSON Schema accepts, with every kind, field and name in one of them."""

    def __init__(self, schema):
        self.schema = schema

    def whole(self):
        statements = self.of(self.schema, 0)
        edits = self.of(self.schema["properties"]["reshaped"], 0)
        return statements + [{**statements[0], "reshaped": edit} for edit in edits]

    def of(self, node, depth):
        if "$ref" in node:
            return self.of(self.schema["$defs"][node["$ref"].removeprefix("#/$defs/")], depth + 1)
        if "const" in node:
            return [node["const"]]
        if "enum" in node:
            return list(node["enum"])
        if "anyOf" in node:
            return [found for way in node["anyOf"] for found in self.of(way, depth)]
        if "allOf" in node:
            return [found for way in node["allOf"] for found in self.branch(node, way, depth)]
        kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
        return [found for kind in kinds for found in self.of_type(kind, node, depth)]

    def branch(self, node, way, depth):
        """Those of one kind, of objects with a field that names their kind."""
        tag, names = next(iter(way["if"]["properties"].items()))
        then = way["then"]
        for name in names.get("enum", [names.get("const")]):
            properties = {**{key: then["properties"][key] or node["properties"][key] for key in then["properties"]}, tag: {"const": name}}
            required = {*node["required"], *then.get("required", [])}
            yield from self.of_type("object", {"properties": properties, "required": required}, depth)

    def of_type(self, kind, node, depth):
        if kind == "object":
            ways = {key: self.of(part, depth) for key, part in node.get("properties", {}).items()}
            least = {key: found[0] for key, found in ways.items() if key in node.get("required", [])}
            rest = [{**least, key: found} for key, founds in ways.items() for found in (founds[1:] if key in least else founds)]
            return [least, *rest]
        if kind == "array":
            # What a candidate releases may itself be the best of candidates.
            return [[]] if depth > 12 else [[found] for found in self.of(node["items"], depth + 1)] + [[]]
        least = node.get("minimum", 1)
        whole = [least, node["maximum"]] if "maximum" in node else [least]
        text = "1" if "0-9]+" in node.get("pattern", "") else "a" * 64
        return {"string": [text[: node.get("maxLength", 64)]], "integer": whole, "number": [0.5, 2], "boolean": [True, False], "null": [None]}[kind]


# --- mutations


def places(value, path=()):
    yield path
    for key, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(part, (*path, key))


def descend(value, rng):
    """A place, level by level, so that long lists do not draw all mutations."""
    path = ()
    while isinstance(value, (dict, list)) and value and rng.random() < (0.75 if path else 0.88):
        key = rng.choice(list(value) if isinstance(value, dict) else range(len(value)))
        path, value = (*path, key), value[key]
    return path


def at(document, path):
    for key in path:
        document = document[key]
    return document


def replaced(document, path, value):
    if not path:
        return value
    at(document, path[:-1])[path[-1]] = value
    return document


def another_type(value, rng):
    others = [None, True, 7, -3, 0.5, "text", "", [], {}, {"text": 1}]
    # A list of its values in the place of an object may be read.
    others += [] if isinstance(value, dict) else [["text"], [1, 2], [None], [[]]]
    return rng.choice([other for other in others if type(other) is not type(value)])


def misspelt(text, rng):
    cut = rng.randrange(len(text) + 1)
    return rng.choice([text[:cut] + "x" + text[cut:], text[1:], text.upper(), text.replace("-", "_"), text + " "])


def beyond_range(number, rng):
    whole = [-1, 0, 4097, 65536, -32769, 2**31, 2**32, 2**64, 1101, -number, number + 1, number + 0.5]
    other = [-1, 0, -number, number / 100, number * 1000, 1e300, 2**64, 0.999]
    return rng.choice(whole if isinstance(number, int) else other)


def mutations(value, rng):
    """What can be done to a value, by name."""
    found = {"another type": lambda: another_type(value, rng), "null": lambda: None}
    if isinstance(value, dict):
        found["unknown field"] = lambda: {**value, rng.choice(["added", "Name", "type_", "comment"]): rng.choice([1, "text", None])}
        if value:
            gone = rng.choice(list(value))
            found["field removed"] = lambda: {key: part for key, part in value.items() if key != gone}
    if isinstance(value, list) and value:
        found["array shorter"] = lambda: value[: rng.randrange(len(value))]
        found["array with another entry"] = lambda: [*value, another_type(value[-1], rng)]
        found["entry twice"] = lambda: [*value, value[0]]
    if isinstance(value, str):
        found["misspelt"] = lambda: misspelt(value, rng)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        found["beyond its range"] = lambda: beyond_range(value, rng)
    return found


def broken(value):
    """A copy whose numbers with a point are not whole: no JSON Schema tells `1.0` from `1`, and a reader of whole numbers does."""
    if isinstance(value, dict):
        return {key: broken(part) for key, part in value.items()}
    if isinstance(value, list):
        return [broken(part) for part in value]
    return value + 0.25 if isinstance(value, float) and value.is_integer() else value


def elsewhere(document, value, rng):
    """Another part of the document; no list in the place of an object."""
    part = at(document, descend(document, rng))
    return broken(part) if not (isinstance(value, dict) and isinstance(part, list) and part) else None


def mutated(document, rng):
    """A copy with one mutation, or with several where there are objects within; and the name of the last."""
    document, name = copy.deepcopy(document), None
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        path = descend(document, rng)
        value = at(document, path)
        found = mutations(value, rng)
        found["part of elsewhere"] = lambda: elsewhere(document, value, rng)
        # Every value has a type and can be null; what fewer have is tried more often.
        name = rng.choices(list(found), [1 if name in ("another type", "null") else 2 for name in found])[0]
        document = replaced(document, path, found[name]())
    return document, name


def is_finite(value):
    """Whether every number of a document is one."""
    return all(math.isfinite(part) for part in (at(value, path) for path in places(value)) if isinstance(part, (int, float)))


def compared(kind, documents, check, most=MUTANTS, differences=MUTANTS):
    """Mutants until a reader has refused so many: how many were accepted and refused, and those on which the two differ."""
    rng, counts, by_name, differing = random.Random(f"mutants of {kind}"), Counter(), Counter(), []
    while counts["refused"] < most and len(differing) < differences:
        document = rng.choice(documents)
        mutant, name = mutated(document, rng)
        if mutant == document or not is_finite(mutant):
            continue
        accepted, message = check.is_valid(mutant), problem(kind, mutant)
        if accepted and message is not None and beyond(kind, message):
            counts["beyond"] += 1
            counts[f"beyond: {beyond(kind, message)}"] += 1
            continue
        counts["compared"] += 1
        counts["refused" if message else "accepted"] += 1
        by_name[name, "refused" if message else "accepted"] += 1
        if accepted != (message is None):
            differing.append((name, message or "accepted by the reader", mutant))
    return counts, by_name, differing


# --- tests


@pytest.mark.parametrize("kind", FORMATS)
def test_golden_files_are_accepted(kind, documents):
    check = validator(kind)
    for document in documents[kind]:
        assert problem(kind, document) is None, (problem(kind, document), document)
        errors = [f"{error.json_path}: {error.message}" for error in check.iter_errors(document)]
        assert not errors, (errors[:3], document)


@pytest.mark.parametrize("kind", FORMATS)
def test_mutants_are_accepted_and_refused_as_the_readers_do(kind, documents):
    counts, by_name, differing = compared(kind, documents[kind], validator(kind))
    print(kind, dict(counts))
    assert not differing, (len(differing), [(name, message, json.dumps(mutant)[:2000]) for name, message, mutant in differing[:3]])
    assert counts["refused"] == MUTANTS and counts["accepted"] >= 100 and counts["beyond"] <= 200, counts
    for name in ["another type", "null", "unknown field", "field removed", "beyond its range", "part of elsewhere"]:
        assert by_name[name, "refused"] >= 5, (name, by_name)


def test_what_a_json_schema_cannot_say_is_what_the_table_names(documents):
    """One file for each name: accepted by the JSON Schema, and refused by the reader in these words."""
    label, with_waves = by_hand()[0], next(model for model in documents["model"] if "together" in model)
    rows, statement = by_hand()[2], documents["statement"][0]
    many = ("guarantee", "rho", "num"), "9" * 690
    changes = {
        "schema": [
            ("order and size of bounds", label, ("columns", "x", "lower"), 2),
            ("values that differ in blanks alone", label, ("columns", "c", "values"), ["b", "b "]),
            ("other among the values", label, ("columns", "c", "other"), "z"),
            ("labels of the target among its column", label, ("positive",), None),
            ("a target that is used", label, ("ignore",), ["y"]),
            ("a feature that is left", label, ("ignore",), ["x", "c"]),
            ("the unit beside other columns", {**label, "rows": None}, ("unit",), {"column": "x"}),
            ("weights beside other columns and labels", label, ("weight",), {"column": "x", "max": 2}),
            ("public columns beside others", {**label, "rows": None, "unit": {"column": "id"}}, ("columns", "x", "public"), True),
            ("a name that can be seen, in bytes", label, ("name",), "\u00e9" * 150),
            ("the words of a released schema", rows, ("released", "statement"), "This schema is private."),
        ],
        "model": [
            ("order of bounds, edges, and how many coefficients", documents["model"][0], ("features", 0, "lower"), 1e9),
            ("how many waves", with_waves, ("together", "waves", "offsets"), [1]),
            ("digits of an exact number", with_waves, ("statement", *many[0]), many[1]),
        ],
        "statement": [("digits of an exact number", statement, *many)],
        "log": [],
    }
    for kind, cases in changes.items():
        assert {name for name, *_ in cases} == set(BEYOND[kind])
        for name, document, path, value in cases:
            changed = replaced(copy.deepcopy({**document, "negative": None} if path == ("positive",) else document), path, value)
            assert validator(kind).is_valid(changed), name
            assert beyond(kind, problem(kind, changed) or "") == name, (name, problem(kind, changed))


def test_ways_to_write_a_file_that_no_mutant_has():
    """Each is in the notes of ``BEYOND`` and on the page about schemas: on these the two differ."""
    check, label = validator("schema"), {**by_hand()[0], "rows": None}
    with_point = {**label, "rows": 100.0}
    assert check.is_valid(with_point) and "floating point" in problem("schema", with_point)
    in_a_list = {**label, "unit": ["id", 40]}
    assert not check.is_valid(in_a_list) and problem("schema", in_a_list) is None
    name_as_object = {**by_hand()[2], "released": {**by_hand()[2]["released"], "unit": {"row": None}}}
    assert not check.is_valid(name_as_object) and problem("schema", name_as_object) is None
    for text in [json.dumps(label)[:-1] + ', "name": "b"}', json.dumps({**label, "draft": 0}).replace('"draft": 0', '"rows": 1e999')]:
        with pytest.raises(rhograd.Error):
            _rhograd.read_format("schema", text)


def parts_of(schema, path=()):
    """Every schema within a schema, with its place."""
    if isinstance(schema, dict):
        yield path, schema
    for key, part in schema.items() if isinstance(schema, dict) else enumerate(schema) if isinstance(schema, list) else ():
        yield from parts_of(part, (*path, key))


@pytest.mark.parametrize("kind", FORMATS)
def test_a_wrong_json_schema_is_found(kind, documents):
    """Each of these is a fault that somebody could make."""
    right = json.loads(_rhograd.json_schema(kind))
    open_to_all, asks_for_less, knows_less, takes_anything = (copy.deepcopy(right) for _ in range(4))
    for _, part in parts_of(open_to_all):
        part.pop("additionalProperties", part.pop("unevaluatedProperties", None))
    whole = [schema["$defs"]["statement_parts"] if kind == "statement" else schema for schema in (asks_for_less, knows_less, takes_anything)]
    needed, extra = {"schema": ("task", "rows"), "model": ("digest", "log_sha256"), "statement": ("dp", "limits"), "log": ("what", "rho")}[kind]
    whole[0]["required"] = whole[0]["required"][:-3]
    whole[1]["properties"].pop(extra)
    whole[2]["properties"][needed] = {}
    for wrong in [open_to_all, asks_for_less, knows_less, takes_anything]:
        assert compared(kind, documents[kind], jsonschema.Draft202012Validator(wrong), differences=1)[2], wrong["title"]


@pytest.mark.parametrize("kind", FORMATS)
def test_every_field_is_described_in_a_sentence(kind):
    schema = json.loads(_rhograd.json_schema(kind))
    assert schema["$id"] == f"urn:rhograd:{kind}" and schema["title"] and schema["description"].endswith(".")
    for place, part in parts_of(schema):
        if "$ref" in part:
            assert part["$ref"].startswith("#/$defs/") and part["$ref"].removeprefix("#/$defs/") in schema["$defs"], place
        if place and place[-1] == "properties" and "if" not in place:
            for name, field in part.items():
                # A branch says again, without words, which fields it has.
                if isinstance(field, dict) and field and not {"const", "not"} >= field.keys() and "then" not in place and "else" not in place:
                    words = field.get("description", "")
                    assert words.endswith(".") and words.count(". ") == 0 and len(words) > 5, (place, name)
        if place and place[-1] == "$defs":
            assert all(definition["description"].endswith(".") for definition in part.values()), place


@pytest.mark.parametrize("kind", FORMATS)
def test_the_fields_and_names_are_those_that_the_readers_list(kind, documents):
    """An unknown field or name is refused with a list of those that are known."""
    schema = json.loads(_rhograd.json_schema(kind))
    fields = {frozenset(part["properties"]) for _, part in parts_of(schema) if isinstance(part.get("properties"), dict)}
    fields |= {known - {tag} for known in fields for tag in ["type", "kind", "edit", "$schema"]}
    names = {frozenset(part["enum"]) - {None} for _, part in parts_of(schema) if isinstance(part.get("enum"), list)}
    for _, part in parts_of(schema):
        ways = part.get("anyOf", []) if isinstance(part, dict) else []
        ways = [[*way.get("enum", [way["const"]] if "const" in way else []), *way.get("properties", {})] for way in ways if isinstance(way, dict)]
        names.add(frozenset(name for way in ways for name in way))
    seen = Counter()
    for document in random.Random(1).sample(documents[kind], min(len(documents[kind]), 120)):
        for path in list(places(document)):
            value = at(document, path)
            if isinstance(value, dict):
                wrong = replaced(copy.deepcopy(document), path, {**value, "no such": 1})
            elif isinstance(value, str) and len(value) < 40:
                wrong = replaced(copy.deepcopy(document), path, "no such")
            else:
                continue
            message = problem(kind, wrong) or ""
            listed = re.search("unknown (field|variant) `no such`, expected (one of )?(.*?) at line|unknown (field|variant) `no such`, expected (.*)", message)
            if listed:
                known = frozenset(re.findall("`([^`]*)`", listed[0])) - {"no such"}
                seen[listed[1] or listed[4]] += 1
                assert known in (fields if "field" in listed[0] else names), (message, path)
    assert seen["field"] >= 30, seen
    if kind == "statement":
        assert seen["variant"] >= 30, seen
        algorithms = schema["$defs"]["facts"]["properties"]["algorithm"]["enum"]
        assert algorithms == [*_rhograd.ALGORITHMS, "custom", "tuned"]


def test_the_program_prints_them(tmp_path):
    for kind in FORMATS:
        words = [sys.executable, "-m", "rhograd", "json-schema", kind]
        printed = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
        assert json.loads(printed) == json.loads(_rhograd.json_schema(kind))
