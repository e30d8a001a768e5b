"""The examples of Dask and Ray give the bits of one machine."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import DATASETS

import rhograd

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def example(name):
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def model(algorithm):
    of = {"schema": DATASETS / "fair.schema.json", "classes": [0, 1], "algorithm": algorithm}
    return rhograd.DPLogisticRegression(epsilon=1, seed=4, steps=4, **of)


def of_one_machine(algorithm, fair):
    features = {name: column for name, column in fair.items() if name != "affair"}
    return model(algorithm).fit(features, fair["affair"].astype(int)).model_.text


@pytest.mark.parametrize("algorithm", ["whitened", "dp-gd"])
def test_dask_gives_the_bits_of_one_machine(fair, algorithm, tmp_path):
    pytest.importorskip("distributed")
    frames = pytest.importorskip("dask.dataframe")
    from dask.distributed import Client

    rows = frames.read_csv(DATASETS / "fair.csv", dtype="float64", blocksize=30_000)
    rows["affair"] = rows["affair"].astype("int64")
    assert rows.npartitions > 2
    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None, local_directory=str(tmp_path)) as client:
        fitted = example("on_dask").fit(model(algorithm), rows, "affair", client)
    assert fitted.model_.text == of_one_machine(algorithm, fair)


@pytest.fixture(scope="module")
def ray():
    ray = pytest.importorskip("ray")
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": str(EXAMPLES)}})
    yield ray
    ray.shutdown()


@pytest.mark.parametrize("algorithm", ["whitened", "dp-gd"])
def test_ray_gives_the_bits_of_one_machine(fair, algorithm, ray):
    pa = pytest.importorskip("pyarrow")
    kinds = {name: np.int64 if name == "affair" else np.float64 for name in fair}
    rows = pa.table({name: column.astype(kinds[name]) for name, column in fair.items()})
    tables = [rows.slice(start, 1500) for start in range(0, len(rows), 1500)]
    # As tables, and where Ray has them already.
    tables[1:] = [ray.put(table) for table in tables[1:]]
    fitted = example("on_ray").fit(model(algorithm), tables, "affair")
    assert fitted.model_.text == of_one_machine(algorithm, fair)


def test_parts_may_come_as_pandas_or_arrow():
    pd, pa = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    from rhograd import cluster

    rows = pd.read_csv(DATASETS / "fair.csv", dtype="float64").astype({"affair": "int64"})
    schema = json.dumps(cluster.schema_for(model("whitened"), rows.columns, "affair"))
    packed = [cluster.pack_batch(schema, table, "affair", 0)["part"][0] for table in (rows, pa.Table.from_pandas(rows))]
    assert packed[0] == packed[1]
