#!/usr/bin/env bash
# Trains one small model with every algorithm: `make_runs.sh PROGRAM FOLDER` leaves models, logs and their ledger in a new FOLDER.
# Made once for each version that is published; `tests/public/golden_runs.rs` verifies all of them from then on.
set -euo pipefail
program=$(realpath "$1")
here=$(realpath "$(dirname "$0")")/runs
mkdir "$2"
cd "$2"

# A data set counts under one relation, so the same rows have two names.
data() {
  cp "$here/$1.csv" "$here/$1.schema.json" .
  cp "$1.csv" "$1-replaced.csv"
  sed "s/golden-$1/golden-$1-replaced/" "$1.schema.json" >"$1-replaced.schema.json"
}
run() {
  local name=$1 table=$2
  shift 2
  "$program" train "$table.csv" --epsilon 1 --ledger ledger.sqlite --out "$name.model.json" --log "$name.log.jsonl" "$@" >/dev/null 2>error ||
    { cat error >&2; echo "$name failed" >&2; exit 1; }
}

data labels
data numbers
cp labels.csv few.csv
cp "$here/few.schema.json" .
few=(--steps 3)
run auto labels "${few[@]}"
run whitened numbers --algorithm whitened "${few[@]}"
run dp-gd labels-replaced --algorithm dp-gd "${few[@]}" --adjacency replace-one
run dp-sgd labels --algorithm dp-sgd "${few[@]}"
run dp-gd-theory labels --algorithm dp-gd-theory "${few[@]}" --rows 240
run adassp numbers --algorithm adassp
run boosted-adassp numbers --algorithm boosted-adassp
run newton labels --algorithm newton
run dp-ftrl labels --algorithm dp-ftrl "${few[@]}"
run localization labels-replaced --algorithm localization --adjacency replace-one
run one-pass labels-replaced --algorithm one-pass "${few[@]}" --adjacency replace-one
run newton-double-noise labels --algorithm newton-double-noise
run output-perturbation labels --algorithm output-perturbation
run amp labels --algorithm amp
run objective-perturbation labels --algorithm objective-perturbation
run exponential-mechanism few --algorithm exponential-mechanism
run frank-wolfe labels --algorithm frank-wolfe "${few[@]}"
run tuned labels --tune='steps=2,3'
run held-out labels --algorithm dp-gd "${few[@]}" --evaluate-budget 0.1
run held-out-replace-one numbers-replaced --algorithm dp-gd "${few[@]}" --evaluate-budget 0.1 --adjacency replace-one
run discrete numbers --algorithm dp-gd "${few[@]}" --noise discrete-gaussian
run seeded labels --algorithm dp-gd "${few[@]}" --seed 7
rm -f -- error *.checkpoint labels* numbers* few*
