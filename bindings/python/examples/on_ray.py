"""Training on Ray: each actor holds one part of the rows, encoded, and answers questions.

    python examples/on_ray.py
"""

import json
import uuid

import ray

from rhograd import DPLogisticRegression, cluster


@ray.remote
class Holder:
    """Holds one part of the rows."""

    def __init__(self, schema, table, target, number):
        self.run, self.part = uuid.uuid4().hex, (number, cluster.pack_batch(schema, table, target, number)["part"][0].as_py())

    def answer(self, question):
        return next(cluster.answered(self.run, [self.part], question))


def fit(model, tables, target):
    """Fits a model of rhograd to tables of Arrow, or to what ``ray.put`` made of them."""
    first = ray.get(tables[0]) if isinstance(tables[0], ray.ObjectRef) else tables[0]
    schema = cluster.schema_for(model, first.column_names, target)
    holders = [Holder.remote(json.dumps(schema), table, target, number) for number, table in enumerate(tables)]
    ask = lambda question: ray.get([holder.answer.remote(question) for holder in holders])  # noqa: E731
    return cluster.fit_cluster(model, schema, ask, target=target, parts=len(tables))


if __name__ == "__main__":
    import pyarrow.csv

    ray.init(num_cpus=2, include_dashboard=False)
    # Types by name: what is inferred from rows may change with one of them.
    types = {"affair": "int64", **dict.fromkeys(json.load(open("datasets/fair.schema.json"))["columns"], "float64")}
    rows = pyarrow.csv.read_csv("datasets/fair.csv", convert_options=pyarrow.csv.ConvertOptions(column_types=types))
    model = DPLogisticRegression(epsilon=1, schema="datasets/fair.schema.json", classes=[0, 1])
    print(fit(model, [rows.slice(0, 3000), rows.slice(3000)], "affair").privacy_statement_["statement"])
    ray.shutdown()
