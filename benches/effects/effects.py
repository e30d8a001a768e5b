"""Forms of effects on the same rows with the same seeds: AUC or R^2 on the test file, and how far each is from the better of the first two.

Noise is seeded, the number of rows public, delta 1e-5. A line a set and epsilon: means, and for every form but the first two the mean difference, its standard error
over the seeds, and whether it is more than two of them behind (-) or ahead (+).
"""

import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

import families


def score(program, folder, name, epsilon, form, seed):
    schema = folder / f"{name}.schema.json"
    with open(folder / f"{name}_train.csv") as file:
        rows = sum(1 for _ in file) - 1
    with tempfile.TemporaryDirectory() as scratch:
        model = f"{scratch}/model.json"
        train = [program, "train", folder / f"{name}_train.csv", "--schema", schema, "--epsilon", epsilon]
        train += ["--delta", "1e-5", "--accept-large-delta", "--rows", str(rows), "--features", form, "--seed", str(seed)]
        subprocess.run([*train, "--no-ledger", "--out", model, "-q", "--threads", "1"], check=True, capture_output=True)
        test = [program, "evaluate", model, folder / f"{name}_test.csv", "--json"]
        told = json.loads(subprocess.run(test, check=True, capture_output=True).stdout)
    return told["auc"] if json.loads(schema.read_text())["task"] == "classification" else told["r2"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", required=True)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--epsilons", default="0.05,0.1,0.2,0.5,1,2,8")
    parser.add_argument("--features", default="linear,additive,auto")
    parser.add_argument("--families", type=int, metavar="SEED")
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    forms = given.features.split(",")
    made = [] if given.families is None else families.make(given.folder, given.families)
    seeds = range(1000, 1000 + given.seeds)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        for name in [*given.names, *made]:
            for epsilon in given.epsilons.split(","):
                jobs = [(form, seed) for form in forms for seed in seeds]
                run = lambda job: score(given.program, given.folder, name, epsilon, *job)
                found = dict(zip(jobs, threads.map(run, jobs)))
                of = {form: [found[form, seed] for seed in seeds] for form in forms}
                best = max(forms[:2], key=lambda form: sum(of[form]))
                line = f"{name:20} {epsilon:>5}"
                for form in forms:
                    line += f" | {form} {sum(of[form]) / len(seeds):.4f}"
                    if form in forms[2:]:
                        apart = [one - other for one, other in zip(of[form], of[best])]
                        mean = sum(apart) / len(apart)
                        error = math.sqrt(sum((one - mean) ** 2 for one in apart) / max(1, len(apart) - 1) / len(apart))
                        sign = "-" if mean < -2 * error else "+" if mean > 2 * error else "="
                        line += f" {sign} {mean:+.4f} ({error:.4f})"
                print(line, flush=True)


if __name__ == "__main__":
    main()
