"""The rows that all systems get: files with a schema, as tables and as numbers."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score

OWN = ["fair", "randhie"]
ROOT = Path(__file__).resolve().parents[2]


class Data:
    """A training and a test file with their schema."""

    def __init__(self, train, test, schema):
        self.train, self.test = Path(train), Path(test)
        self.schema_file = Path(schema)
        self.schema = json.loads(self.schema_file.read_text())
        self.name = self.schema_file.name.removesuffix(".schema.json")
        ignored = {*self.schema.get("ignore", []), self.schema["target"]}
        self.columns = {name: told for name, told in self.schema["columns"].items() if name not in ignored}
        self.is_label = self.schema["task"] == "classification"

    def table(self, path):
        """Features and target: numbers inside their bounds, categories as text, a label as whether it is the positive one."""
        table = pd.read_csv(path, dtype=str, keep_default_na=False, skipinitialspace=True)
        features = {}
        for name, told in self.columns.items():
            if told["type"] == "numeric":
                numbers = pd.to_numeric(table[name], errors="coerce").fillna((told["lower"] + told["upper"]) / 2)
                features[name] = numbers.clip(told["lower"], told["upper"])
            else:
                features[name] = table[name].str.strip()
        target = table[self.schema["target"]].str.strip()
        if self.is_label:
            return pd.DataFrame(features), (target == str(self.schema["positive"])).astype(int).to_numpy()
        return pd.DataFrame(features), pd.to_numeric(target).to_numpy(float)

    def kinds(self):
        return ["continuous" if told["type"] == "numeric" else "nominal" for told in self.columns.values()]


def split(name, folder):
    """Every fifth line to the test file, the number of rows left out of the schema."""
    lines = (ROOT / "datasets" / f"{name}.csv").read_text().splitlines()
    parts = [f"{name}_train.csv", f"{name}_test.csv"]
    for part, chosen in zip(parts, [lambda i: i % 5 != 4, lambda i: i % 5 == 4]):
        kept = [line for i, line in enumerate(lines[1:]) if chosen(i)]
        (folder / part).write_text("\n".join([lines[0], *kept]) + "\n")
    schema = json.loads((ROOT / "datasets" / f"{name}.schema.json").read_text())
    schema.pop("rows", None)
    (folder / f"{name}.schema.json").write_text(json.dumps(schema))
    return Data(folder / parts[0], folder / parts[1], folder / f"{name}.schema.json")


def given(train, test):
    train = Path(train)
    return Data(train, test, train.with_name(train.name.removesuffix("_train.csv") + ".schema.json"))


def measured(data, y, told):
    """The metrics of predictions: probabilities of a label, or numbers."""
    if data.is_label:
        return {"accuracy": accuracy_score(y, told > 0.5), "auc": roc_auc_score(y, told)}
    return {"r2": r2_score(y, np.clip(told, data.schema["target_lower"], data.schema["target_upper"]))}


def sets_of(words, folder):
    """Data sets from a command line: fair, randhie, or pairs TRAIN.csv TEST.csv with the schema beside them."""
    words = iter(words)
    return [split(word, folder) if word in OWN else given(word, next(words)) for word in words]


def matrix(data, path):
    """Numbers between -1 and 1 by public bounds, categories as one column for each declared value, and a target between -1 and 1, or a label."""
    table, target = data.table(path)
    blocks = []
    for name, told in data.columns.items():
        if told["type"] == "numeric":
            middle, half = (told["lower"] + told["upper"]) / 2, (told["upper"] - told["lower"]) / 2
            blocks.append(((table[name].to_numpy(float) - middle) / half)[:, None])
        else:
            values = [str(value) for value in told["values"]]
            blocks.append((table[name].to_numpy()[:, None] == np.array(values, dtype=object)[None, :]).astype(float))
    if not data.is_label:
        middle, half = ends(data)
        target = np.clip((target - middle) / half, -1, 1)
    return np.ascontiguousarray(np.hstack(blocks)), target


def ends(data):
    """Middle and half width of the target."""
    lower, upper = data.schema["target_lower"], data.schema["target_upper"]
    return (lower + upper) / 2, (upper - lower) / 2


def longest(data):
    """The largest norm that a row of the matrix can have, from public facts."""
    return float(np.sqrt(len(data.columns)))
