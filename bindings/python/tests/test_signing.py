"""Signatures of models, edited models, and the flags of the process."""

import os
import subprocess
import sys

import numpy as np
import pytest

import rhograd
from rhograd import DPLogisticRegression


@pytest.fixture
def fitted(tmp_path):
    x = np.linspace(0, 10, 200)
    model = DPLogisticRegression(
        epsilon=1, bounds=(0, 10), classes=["0", "1"], dataset="signing", ledger=str(tmp_path / "l.sqlite")
    )
    return model.fit(x.reshape(-1, 1), (x > 5).astype(int).astype(str))


def test_a_saved_model_is_signed_and_checked_with_the_public_key(fitted, tmp_path):
    key = tmp_path / "custodian.key"
    public = rhograd.new_key(key)
    assert os.stat(key).st_mode & 0o077 == 0
    path = tmp_path / "m.json"
    fitted.save(path, sign=key)
    signature = (tmp_path / "m.json.sig").read_text()
    model = rhograd.Model(path.read_text())
    assert model.authenticated_by() == []
    assert model.authenticated_by(key=public, signature=signature) == ["signature"]
    both = model.authenticated_by(ledger=fitted.ledger, key=public, signature=signature)
    assert both == ["ledger", "signature"]
    other = rhograd.new_key(tmp_path / "other.key")
    assert model.authenticated_by(key=other, signature=signature) == []
    with pytest.raises(rhograd.DataError):
        model.authenticated_by(key=public, signature=signature + " ")
    with pytest.raises(rhograd.DataError, match="never replaced"):
        rhograd.new_key(key)


def test_a_model_that_is_to_be_signed_is_never_saved_without_its_signature(fitted, tmp_path):
    key, path = tmp_path / "custodian.key", tmp_path / "m.json"
    public = rhograd.new_key(key)
    (tmp_path / "m.json.sig").mkdir()
    for refused in (key, tmp_path / "missing.key"):
        with pytest.raises((rhograd.DataError, OSError)):
            fitted.save(path, sign=refused)
        assert not path.exists()
    (tmp_path / "m.json.sig").rmdir()
    fitted.save(path, sign=key)
    with pytest.raises(rhograd.DataError, match="exists already; give overwrite=True"):
        fitted.save(path, sign=key)
    fitted.save(path, sign=key, overwrite=True)
    signature = (tmp_path / "m.json.sig").read_text()
    assert rhograd.Model(path.read_text()).authenticated_by(key=public, signature=signature) == ["signature"]
    path.unlink()
    with pytest.raises(rhograd.DataError, match="is the signature of another model"):
        fitted.save(path)
    assert not path.exists()
    fitted.save(path, overwrite=True)
    assert path.exists() and not (tmp_path / "m.json.sig").exists()
    fitted.save(path, sign=key, overwrite=True)
    assert sorted(name for name in os.listdir(tmp_path) if name.startswith("m")) == ["m.json", "m.json.sig"]


def test_an_edited_model_is_not_read(fitted):
    text = fitted.model_.text
    edited = text.replace('"secret_noise": true', '"secret_noise": false')
    assert edited != text
    with pytest.raises(rhograd.DataError, match="digest"):
        rhograd.Model(edited)


FLAGS = """
import resource, rhograd
limits = resource.getrlimit(resource.RLIMIT_CORE)
import numpy as np
x = np.linspace(0, 10, 50).reshape(-1, 1)
rhograd.DPLogisticRegression(epsilon=1, bounds=(0, 10), classes=["0", "1"]).fit(x, (x[:, 0] > 5).astype(int).astype(str))
assert resource.getrlimit(resource.RLIMIT_CORE) == limits, "a fit changes the host program"
rhograd.hide_memory()
assert resource.getrlimit(resource.RLIMIT_CORE) == (0, 0)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits are those of Linux")
def test_the_flags_of_the_host_program_are_its_own_until_it_asks():
    subprocess.run([sys.executable, "-c", FLAGS], check=True, timeout=120)
