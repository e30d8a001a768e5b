"""Training on Dask: each partition of a data frame is encoded where it is, and answers questions there.

    python examples/on_dask.py
"""

import json
import uuid

import dask

from rhograd import DPLogisticRegression, cluster


def fit(model, frame, target, client):
    """Fits a model of rhograd to a data frame of Dask, by the client of its scheduler."""
    schema, run = cluster.schema_for(model, list(frame.columns), target), uuid.uuid4().hex

    def packed(number, rows):
        return number, cluster.pack_batch(json.dumps(schema), rows, target, number)["part"][0].as_py()

    # A part that is lost with its worker is made again from the same rows.
    parts = client.compute([dask.delayed(packed)(number, rows) for number, rows in enumerate(frame.to_delayed())])

    def ask(question):
        return client.gather(client.map(lambda part: next(cluster.answered(run, [part], question)), parts, pure=False))

    return cluster.fit_cluster(model, schema, ask, target=target, parts=len(parts))


if __name__ == "__main__":
    import dask.dataframe
    from dask.distributed import Client

    with Client(n_workers=2, threads_per_worker=1, dashboard_address=None) as client:
        # Types by name: what is inferred from rows may change with one of them.
        rows = dask.dataframe.read_csv("datasets/fair.csv", dtype="float64", blocksize=50_000)
        rows["affair"] = rows["affair"].astype("int64")
        model = DPLogisticRegression(epsilon=1, schema="datasets/fair.schema.json", classes=[0, 1])
        print(fit(model, rows, "affair", client).privacy_statement_["statement"])
