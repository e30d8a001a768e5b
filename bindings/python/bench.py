"""Fit through Python against the command line on the same data, and the time of an import.

    python bench.py PATH/TO/rhograd [ROWS]

Runs alternate, so that both meet the same machine; what counts is the ratio. Each run of the command line is a process,
as is each run of Python for a file; a fit in memory finds its arrays there.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PYTHON = """
import sys, time
started = time.perf_counter()
import rhograd
imported = time.perf_counter()
model = rhograd.DPLogisticRegression(epsilon=1, seed=1, classes=["0", "1"])
model.fit_csv(sys.argv[1])
print(imported - started, time.perf_counter() - imported)
"""


def seconds(run):
    started = time.perf_counter()
    out = run()
    return time.perf_counter() - started, out


def main() -> None:
    program, rows = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "1000000"
    folder = Path(tempfile.mkdtemp(prefix="rhograd-bench-"))
    data = folder / "big.csv"
    subprocess.run([program, "generate", "logistic", "--rows", rows, "--features", "30", "--out", data],
                   check=True, capture_output=True)  # fmt: skip
    train = [program, "train", data, "--epsilon", "1", "--seed", "1", "--no-ledger", "--out", folder / "m.json", "--json"]
    fit = [sys.executable, "-c", PYTHON, data]

    import numpy as np

    import rhograd

    values = np.loadtxt(data, delimiter=",", skiprows=1, max_rows=int(rows))
    X, y = values[:, :-1], values[:, -1].astype(int)
    schema = json.loads(data.with_name("big.schema.json").read_text())
    in_memory = rhograd.DPLogisticRegression(epsilon=1, seed=1, classes=["0", "1"], schema=schema)

    taken = {"command line": [], "python, file": [], "python, memory": [], "import": []}
    for _ in range(7):
        taken["command line"].append(seconds(lambda: subprocess.run(train, check=True, capture_output=True))[0])
        out = subprocess.run(fit, check=True, capture_output=True, text=True).stdout.split()
        taken["import"].append(float(out[0]))
        taken["python, file"].append(float(out[1]))
        taken["python, memory"].append(seconds(lambda: in_memory.fit(X, y))[0])
    middle = {name: statistics.median(values) for name, values in taken.items()}
    for name, value in middle.items():
        ratio, least = value / middle["command line"], min(taken[name])
        print(f"{name:16} {value:.3f} s, {ratio:.3f} of the command line; least {least:.3f} s")


if __name__ == "__main__":
    main()
