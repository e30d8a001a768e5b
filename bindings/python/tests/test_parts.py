"""What a worker keeps of the parts of a run, and lets go."""

import json
import os
import stat

import numpy as np
import pytest

import rhograd
from rhograd import _parts, spark

pa = pytest.importorskip("pyarrow")

RUN, OTHER, FOREIGN = "driver-1", "driver-2", "stranger-1"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{tmp_path},/elsewhere")
    monkeypatch.setattr(_parts, "_parts", {})
    return tmp_path


def model(**more):
    return rhograd.DPLogisticRegression(
        epsilon=1, bounds=(-1, 1), classes=["0", "1"], seed=3, algorithm="dp-gd", steps=3, **more
    )  # fmt: skip


def packed_parts(parts=2, rows=400, seed=0):
    rng = np.random.default_rng(seed)
    columns = {"a": rng.uniform(-1, 1, rows), "b": rng.uniform(-1, 1, rows), "y": rng.integers(0, 2, rows).astype(str)}
    table = pa.table(columns)
    schema = spark.schema_for(model(), table.column_names, "y")
    size = rows // parts
    pieces = [table.slice(number * size, size) for number in range(parts)]
    packed = [spark.pack_batch(json.dumps(schema), piece, "y", number)["part"][0].as_py() for number, piece in enumerate(pieces)]
    return schema, {_parts.digest_of(part): part for part in packed}


def trained(schema, ask, **more):
    return spark.fit_cluster(model(**more), schema, ask, target="y").model_.text


def test_a_part_is_found_by_its_digest_in_memory_or_in_its_file(folder, monkeypatch):
    schema, parts = packed_parts()
    live, decoded, plain = {RUN: list(parts)}, [], _parts._rhograd.Part
    expected = trained(schema, lambda question: list(_parts.answered("all", enumerate(parts.values()), question)))
    monkeypatch.setattr(_parts._rhograd, "Part", lambda packed: decoded.append(packed) or plain(packed))

    def ask(question):
        return [_parts.answer_of(RUN, digest, question, live, None, True) for digest in parts]

    for digest, packed in parts.items():
        _parts.lay(RUN, digest, packed)
    assert all(stat.S_IMODE(os.stat(folder / name).st_mode) == 0o600 for name in os.listdir(folder))
    assert trained(schema, ask) == expected
    # Each was decoded once, for all questions.
    assert len(decoded) == len(parts)
    # A hold-out wants all rows again: the file has them, though nobody brings their bytes.
    held = trained(schema, lambda question: list(_parts.answered("held", enumerate(parts.values()), question)), evaluate_budget=0.2)
    assert trained(schema, ask, evaluate_budget=0.2) == held


def test_what_is_nowhere_or_damaged_is_asked_for(folder):
    schema, parts = packed_parts()
    live = {RUN: list(parts)}
    sent = []

    def ask(question):
        answers = []
        for digest, packed in parts.items():
            answer = _parts.answer_of(RUN, digest, question, live, None, True)
            if answer is None:
                sent.append(digest)
                answer = _parts.answer_of(RUN, digest, question, live, packed, True)
            answers.append(answer)
        return answers

    first, second = parts
    _parts.lay(RUN, first, parts[first][:-1])
    _parts.lay(RUN, second, parts[second])
    trained(schema, ask)
    assert sent == [first]
    # Without files nothing is read from them.
    _parts._parts.clear()
    assert _parts.answer_of(RUN, second, b"", live, None, False) is None


def test_a_part_goes_on_to_a_run_with_the_same_rows_and_is_let_go_by_others():
    schema, parts = packed_parts()
    strange, others = packed_parts(seed=1)

    def ask(run, parts, live):
        return lambda question: [_parts.answer_of(run, digest, question, live, packed, False) for digest, packed in parts.items()]

    trained(schema, ask(RUN, parts, {RUN: list(parts)}))
    kept = {key[1]: part for key, (part, _) in _parts._parts.items()}
    trained(schema, ask(OTHER, parts, {OTHER: list(parts)}))
    assert {key: part for key, (part, _) in _parts._parts.items()} == {(OTHER, digest): part for digest, part in kept.items()}
    # While both go on, each has its own: what one made of the rows is of no use to the other.
    trained(schema, ask(RUN, parts, {OTHER: list(parts), RUN: list(parts)}))
    assert len(_parts._parts) == 2 * len(parts)
    trained(strange, ask(FOREIGN, others, {FOREIGN: list(others)}))
    # Runs of another driver are not known here; they are let go when nobody asks.
    assert len(_parts._parts) == 3 * len(parts)
    trained(strange, ask("driver-3", others, {"driver-3": list(others)}))
    assert {key[0] for key in _parts._parts} == {FOREIGN, "driver-3"}
    _parts._parts.update({key: (part, at - 2 * _parts._IDLE) for key, (part, at) in _parts._parts.items() if key[0] == FOREIGN})
    trained(strange, ask("driver-3", others, {"driver-3": list(others)}))
    assert {key[0] for key in _parts._parts} == {"driver-3"}


def test_files_of_a_run_go_with_it_and_no_others(folder, monkeypatch):
    _, parts = packed_parts()
    for run in (RUN, OTHER):
        for digest, packed in parts.items():
            _parts.lay(run, digest, packed)
    _parts.forget(RUN)
    assert sorted(os.listdir(folder)) == sorted(f"rhograd-{OTHER}-{digest}" for digest in parts)
    # A disk without room leaves nothing half written.
    monkeypatch.setattr(_parts.os, "replace", lambda *names: (_ for _ in ()).throw(OSError("no space")))
    _parts.lay(RUN, "d", b"bytes")
    assert len(os.listdir(folder)) == len(parts)
    # Without a folder nothing is written elsewhere, and nothing is let go.
    monkeypatch.undo()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "")
    monkeypatch.chdir(folder)
    _parts.lay(RUN, "d", b"bytes")
    _parts.forget(OTHER)
    assert len(os.listdir(folder)) == len(parts)


def test_a_part_that_is_missing_from_the_first_question_on_is_missed():
    schema, parts = packed_parts()
    some = [(0, next(iter(parts.values())))]
    with pytest.raises(rhograd.RefusedError, match="cluster failed") as refused:
        spark.fit_cluster(model(), schema, lambda question: list(_parts.answered("some", some, question)), target="y", parts=2)
    assert "1 answered, and there are 2" in str(refused.value.__cause__)


def test_files_that_an_attempt_left_behind_go_with_the_next_question(folder):
    """A task that was lost, or ended after its run, leaves a file that no job of its run reaches."""
    schema, parts = packed_parts()
    for run in (RUN, OTHER, "driver-3", FOREIGN):
        for digest, packed in parts.items():
            _parts.lay(run, digest, packed)
    live, over = {OTHER: list(parts)}, [RUN]
    trained(schema, lambda question: [_parts.answer_of(OTHER, digest, question, live, None, True, over) for digest in parts])
    left = {name.rpartition("-")[0] for name in os.listdir(folder)}
    # Those of runs that go on, or have begun since, and of other drivers, are nobody else's to let go.
    assert left == {f"rhograd-{run}" for run in (OTHER, "driver-3", FOREIGN)}


def test_a_name_of_a_run_that_comes_again_does_not_bring_back_other_rows():
    (schema, first), (_, second) = packed_parts(), packed_parts(seed=1)
    expected = [trained(schema, lambda question: list(_parts.answered(name, enumerate(parts.values()), question)))
                for name, parts in (("one", first), ("two", second))]  # fmt: skip
    again = [trained(schema, lambda question: list(_parts.answered("same", enumerate(parts.values()), question)))
             for parts in (first, second)]  # fmt: skip
    assert again == expected and expected[0] != expected[1]
    # What the first run of the name held is gone.
    assert len([key for key in _parts._parts if key[0] == "same"]) == len(second)
