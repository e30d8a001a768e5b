"""From a file to a model, start to finish: programs on the same rows in the files that people have. See `benches/files/run`.

Each run is a process of its own, so that its start, its imports and its peak of memory are counted. Systems take turns within a repetition, so
that all meet the same machine; ratios are medians over repetitions. Cold runs begin with the file out of the page cache. Rows are made up:
`numeric` has 32 numbers of four decimals and `mixed` 6 numbers and 8 categories, each with a label.
"""

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HEADER = ["kind", "rows", "format", "system", "threads", "state", "run", "seconds", "megabytes", "note"]
KINDS = ["numeric", "mixed"]
FORMATS = ["csv", "csv.gz", "csv.zst", "parquet", "libsvm", "cache"]
PEERS = {"scikit-learn": ["csv", "csv.gz", "csv.zst", "parquet", "libsvm"], "diffprivlib": ["csv"], "opacus": ["csv"]}
#: Of more rows there are CSV and Parquet alone: the others take a quarter of an hour to write.
ALL_FORMATS = 1_000_000
BLOCK = 500_000
#: The numbers of values of the categories.
VALUES = [2, 3, 5, 7, 9, 12, 16, 16]


def columns(kind):
    """Numeric columns, and categorical ones with their values."""
    if kind == "numeric":
        return [f"x{k}" for k in range(32)], {}
    return [f"x{k}" for k in range(6)], {f"c{k}": [f"value {v}" for v in range(many)] for k, many in enumerate(VALUES)}


def schema(kind, by_number=False):
    numbers, categories = columns(kind)
    # Files of libsvm have numbers for names, from 1 on.
    numbers = [str(k + 1) for k in range(len(numbers))] if by_number else numbers
    told = {name: {"type": "numeric", "lower": -1, "upper": 1} for name in numbers}
    told |= {name: {"type": "categorical", "values": values} for name, values in categories.items()}
    told["y"] = {"type": "categorical", "values": ["0", "1"]}
    return {"name": kind, "task": "classification", "target": "y", "positive": "1", "negative": "0", "columns": told}


def block(kind, rows, seed):
    """So many rows as a table of Arrow."""
    import numpy as np
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    numbers, categories = columns(kind)
    made = {name: np.round(rng.uniform(-1, 1, rows), 4) for name in numbers}
    score = made["x0"] - made["x1"] + 0.5 * made["x2"]
    for name, values in categories.items():
        codes = rng.integers(0, len(values), rows)
        score = score + 0.3 * (codes % 3 - 1)
        made[name] = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(values))
    made["y"] = (rng.uniform(size=rows) < 1 / (1 + np.exp(-2 * score))).astype(np.int8)
    return pa.table(made)


def make(folder, kind, rows):
    """The files of so many rows, where they are not there already."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{kind}.schema.json").write_text(json.dumps(schema(kind)))
    (folder / f"{kind}.libsvm.schema.json").write_text(json.dumps(schema(kind, by_number=True)))
    stem = folder / f"{kind}-{rows}"
    if not Path(f"{stem}.done").exists():
        sinks = {"csv": open(f"{stem}.csv", "wb")}
        if rows <= ALL_FORMATS:
            sinks["csv.gz"] = pa.CompressedOutputStream(f"{stem}.csv.gz", "gzip")
            sinks["csv.zst"] = pa.CompressedOutputStream(f"{stem}.csv.zst", "zstd")
        parquet = None
        for at in range(0, rows, BLOCK):
            table = block(kind, min(BLOCK, rows - at), at)
            texts = pa.BufferOutputStream()
            options = pyarrow.csv.WriteOptions(include_header=at == 0, quoting_style="needed")
            # Dictionaries are written as their values.
            plain = pa.table({name: cells.cast(pa.string()) if pa.types.is_dictionary(cells.type) else cells for name, cells in zip(table.column_names, table.columns)})
            pyarrow.csv.write_csv(plain, texts, options)
            for sink in sinks.values():
                sink.write(texts.getvalue())
            parquet = parquet or pyarrow.parquet.ParquetWriter(f"{stem}.parquet", table.schema)
            parquet.write_table(table)
            if kind == "numeric" and rows <= ALL_FORMATS:
                with open(f"{stem}.libsvm", "a" if at else "w") as lines:
                    told = [table.column(name).to_pylist() for name in ["y", *columns(kind)[0]]]
                    for label, *cells in zip(*told):
                        lines.write(f"{label} " + " ".join(f"{k + 1}:{cell}" for k, cell in enumerate(cells)) + "\n")
        for sink in sinks.values():
            sink.close()
        parquet.close()
        # What is still to be written to the disk is no part of any run.
        os.sync()
        Path(f"{stem}.done").touch()


# What each process of a peer does: it prints nothing and leaves its model to the end.


def table_of(path, kind):
    """Features as numbers, one for each value of a category, and labels."""
    import numpy as np
    import polars as pl

    numbers, categories = columns(kind)
    if path.endswith(".libsvm"):
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(path)
        return X.toarray(), y.astype(np.int8)
    if path.endswith(".parquet"):
        table = pl.read_parquet(path)
    else:
        table = pl.read_csv(path, schema_overrides={name: pl.Enum(values) for name, values in categories.items()})
    y = table["y"].to_numpy()
    if not categories:
        return table.select(numbers).to_numpy(), y
    coded = [table[name].cast(pl.Enum(values)).to_physical().to_numpy() for name, values in categories.items()]
    hot = [np.eye(len(values), dtype=np.float32)[codes] for codes, values in zip(coded, categories.values())]
    return np.hstack([table.select(numbers).to_numpy().astype(np.float32), *hot]), y


def peer(system, path, kind):
    import numpy as np

    X, y = table_of(path, kind)
    if system == "scikit-learn":
        from sklearn.linear_model import LogisticRegression

        LogisticRegression().fit(X, y)
    elif system == "diffprivlib":
        from diffprivlib.models import LogisticRegression

        LogisticRegression(epsilon=1.0, data_norm=float(np.sqrt(X.shape[1]))).fit(X, y)
    else:
        import torch
        from opacus import PrivacyEngine
        from torch.utils.data import DataLoader, TensorDataset

        torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
        rows = TensorDataset(torch.from_numpy(X.astype(np.float32)), torch.from_numpy(y.astype(np.float32)))
        model = torch.nn.Linear(X.shape[1], 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
        # One pass alone, in large batches: many more are usual.
        model, optimizer, batches = PrivacyEngine().make_private_with_epsilon(
            module=model, optimizer=optimizer, data_loader=DataLoader(rows, batch_size=4096), target_epsilon=1.0, target_delta=1e-8, epochs=1, max_grad_norm=1.0
        )
        loss = torch.nn.BCEWithLogitsLoss()
        for some, labels in batches:
            optimizer.zero_grad()
            loss(model(some)[:, 0], labels).backward()
            optimizer.step()


def command(asked, system, path, kind, threads, scratch):
    if system != "rhograd":
        return [sys.executable, __file__, "--peer", system, path, "--kind", kind]
    told = f"{kind}.libsvm.schema.json" if path.endswith(".libsvm") else f"{kind}.schema.json"
    words = [asked.program, "train", path, "--schema", str(asked.folder / told), "--epsilon", "1", "--delta", "1e-8"]
    words += ["--threads", str(threads), "--no-ledger", "--no-checkpoint", "--accept-large-delta", "--quiet", "--overwrite", "--out", f"{scratch}/model.json"]
    return words


def timed(words, threads, cold, limit, files):
    """Seconds and megabytes of one process; what it wrote goes nowhere unless it fails."""
    for file in files:
        with open(file, "rb") as held:
            if cold:
                os.posix_fadvise(held.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            else:
                while held.read(1 << 24):
                    pass
    many = {name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")}
    with tempfile.TemporaryFile() as said:
        started = time.perf_counter()
        process = subprocess.Popen([str(word) for word in words], stdout=said, stderr=said, env=os.environ | many)
        while True:
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            seconds = time.perf_counter() - started
            if done:
                break
            if seconds > limit:
                process.kill()
                os.wait4(process.pid, 0)
                return {"note": f"took more than {limit:g} seconds"}
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines()
            return {"note": (lines[-1] if lines else f"exit code {process.returncode}")[:120]}
    return {"seconds": f"{seconds:.4g}", "megabytes": f"{used.ru_maxrss / 1024:.0f}"}


def measure(asked, stem, kind, rows, lines):
    """All systems and formats of some rows, in turn."""
    failed = set()
    with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
        cache = f"{scratch}/rows.cache"
        plan = []
        for form in FORMATS:
            path = f"{stem}.csv" if form == "cache" else f"{stem}.{form}"
            if not os.path.exists(path):
                continue
            for system in ["rhograd", *PEERS]:
                if system == "rhograd" or form in PEERS[system]:
                    states = ["warm", "cold"] if system == "rhograd" or form == "csv" and system == "scikit-learn" else ["warm"]
                    plan += [(form, path, system, 2, state) for state in states]
                    if system in ("rhograd", "scikit-learn"):
                        plan += [(form, path, system, 1, state) for state in states]
        for run in range(asked.runs):
            for form, path, system, threads, state in plan:
                if (form, system, threads) in failed:
                    continue
                words, files = command(asked, system, path, kind, threads, scratch), [path]
                if form == "cache":
                    words += ["--cache", cache]
                    if not os.path.exists(cache):
                        timed(words, threads, False, asked.most, files)
                    files = [path, cache]
                found = timed(words, threads, state == "cold", asked.most, files)
                if "note" in found:
                    failed.add((form, system, threads))
                lines.writerow(dict(zip(HEADER, [kind, rows, form, system, threads, state, run])) | found)
                print(kind, rows, form, system, threads, state, run, *found.values(), file=sys.stderr, flush=True)


def tables(path):
    """What was measured, in Markdown: medians of seconds and megabytes, and how many times as long as rhograd others take."""
    held = {}
    with open(path) as lines:
        for line in csv.DictReader(lines):
            key = tuple(line[name] for name in HEADER[:6])
            held.setdefault(key, {})[line["run"]] = line
    for kind in KINDS:
        sizes = sorted({int(key[1]) for key in held if key[0] == kind})
        for rows in sizes:
            print(f"\n| {kind}, {rows:,} rows | 2 threads, s | 1 thread, s | cold, 2 threads, s | MB | to rhograd's time, 2 threads |\n|---|---|---|---|---|---|")
            for form in FORMATS:
                for system in ["rhograd", *PEERS]:
                    of = lambda threads, state, system=system: held.get((kind, str(rows), form, system, threads, state), {})  # noqa: E731, B023
                    if not of("2", "warm"):
                        continue
                    note = next((line["note"] for line in of("2", "warm").values() if line["note"]), "")

                    def middle(lines, name="seconds"):
                        found = [float(line[name]) for line in lines.values() if line[name]]
                        digits = ".0f" if name == "megabytes" else ".3g"
                        return format(statistics.median(found), digits) if found else note or "-"

                    own, beside = of("2", "warm"), of("2", "warm", "rhograd")
                    pairs = [float(own[run]["seconds"]) / float(beside[run]["seconds"]) for run in own if run in beside and own[run]["seconds"]]
                    ratio = f"{statistics.median(pairs):.1f} ({min(pairs):.1f} to {max(pairs):.1f})" if pairs and system != "rhograd" else ""
                    cells = [middle(own), middle(of("1", "warm")), middle(of("2", "cold")), middle(own, "megabytes"), ratio]
                    print(f"| {form}, {system} | {' | '.join(cells)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="rhograd")
    parser.add_argument("--out", type=Path, default=Path("results.csv"), help="CSV that lines are added to")
    parser.add_argument("--rows", default="100000,1000000", help="sizes, with commas between")
    parser.add_argument("--runs", type=int, default=5, help="repetitions")
    parser.add_argument("--most", type=float, default=300, help="seconds that a run may take")
    parser.add_argument("--kind", default=",".join(KINDS), help="numeric, mixed or both")
    parser.add_argument("--table", action="store_true", help="print what was measured")
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("folder", type=Path, nargs="?", help="where files are made")
    asked = parser.parse_args()
    if asked.peer:
        return peer(asked.peer, str(asked.folder), asked.kind)
    if asked.make:
        return make(asked.folder, asked.kind, int(asked.rows))
    if asked.table:
        return tables(asked.out)
    if asked.folder is None:
        parser.error("name a folder for the files")
    fresh = not asked.out.exists()
    with asked.out.open("a", buffering=1) as out:
        lines = csv.DictWriter(out, HEADER, lineterminator="\n")
        if fresh:
            lines.writeheader()
        for kind in asked.kind.split(","):
            for rows in map(int, asked.rows.split(",")):
                # By another process: what this one holds of memory is counted for those that it starts.
                subprocess.run([sys.executable, __file__, "--make", "--kind", kind, "--rows", str(rows), str(asked.folder)], check=True)
                measure(asked, asked.folder / f"{kind}-{rows}", kind, rows, lines)
    return None


if __name__ == "__main__":
    main()
