"""The command line inside the module."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import rhograd

FAIR = Path(__file__).resolve().parents[3] / "datasets" / "fair.csv"


def run(*words, cwd):
    return subprocess.run([sys.executable, "-m", "rhograd", *words], cwd=cwd, capture_output=True, text=True)


def test_it_is_the_program(tmp_path):
    version = run("--version", cwd=tmp_path)
    assert (version.returncode, version.stdout) == (0, f"rhograd {rhograd.__version__}\n")
    trained = run("train", FAIR, "--epsilon", "1", "--ledger", "l.sqlite", "--out", "m.json", "--log", "m.log", cwd=tmp_path)
    assert trained.returncode == 0, trained.stderr
    checked = run("verify", "m.json", "--ledger", "l.sqlite", "--log", "m.log", "--json", cwd=tmp_path)
    assert json.loads(checked.stdout)["verified"]
    assert rhograd.load(tmp_path / "m.json").privacy_statement_["dp"]


def test_exit_codes_are_those_of_the_program(tmp_path):
    assert run("train", "--nonsense", cwd=tmp_path).returncode == 2
    missing = run("verify", "nothing.json", cwd=tmp_path)
    assert missing.returncode == 2 and "nothing.json" in missing.stderr
    run("train", FAIR, "--epsilon", "1", "--seed", "1", "--ledger", "l.sqlite", "--out", "m.json", cwd=tmp_path)
    (tmp_path / "m.json").write_text((tmp_path / "m.json").read_text().replace('"dimension": ', '"dimension": 1'))
    assert run("verify", "m.json", cwd=tmp_path).returncode == 1
    help_text = run("report", "--help", cwd=tmp_path)
    assert "Usage: rhograd report" in help_text.stdout and help_text.returncode == 0


def test_an_interrupt_ends_it(tmp_path):
    """Python alone would go on until the command has ended."""
    command = [sys.executable, "-m", "rhograd"]
    endless = subprocess.Popen(
        [*command, "audit", "--algorithm", "dp-gd", "--rho", "1", "--trials", "100000000"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    time.sleep(3)
    assert endless.poll() is None, endless.communicate()
    endless.send_signal(signal.SIGINT)
    assert endless.wait(timeout=20) in (-signal.SIGINT, 130)
