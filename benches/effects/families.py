"""Synthetic families, on each of which another form of effects is right."""

import json

import numpy as np

NAMES = ["straight", "cats", "heavy", "bends", "both", "spikes", "few", "curvy"]


def logistic(margin):
    return 1 / (1 + np.exp(-margin))


def normal(rng, rows, columns, correlation):
    """Correlated standard normal columns within four deviations."""
    shared = rng.normal(size=(rows, 1))
    own = np.sqrt(1 - correlation) * rng.normal(size=(rows, columns))
    return np.clip(own + np.sqrt(correlation) * shared, -4, 4)


def write(folder, name, numbers, categories, target, most=None, bounds=None):
    """Two thirds of the rows to train on (three fifths below 20,000 rows), `most` at most, and the others to test; `bounds` of a target that is a number."""
    rows = len(target)
    columns = {f"x{k}": {"type": "numeric", "lower": -4, "upper": 4} for k in range(numbers.shape[1])}
    for k, (_, values) in enumerate(categories):
        columns[f"c{k}"] = {"type": "categorical", "values": [f"v{value}" for value in range(values)]}
    kind = "classification" if bounds is None else "regression"
    schema = {"name": name, "task": kind, "target": "y", "columns": columns}
    schema |= {"positive": "1"} if bounds is None else {"target_lower": bounds[0], "target_upper": bounds[1]}
    (folder / f"{name}.schema.json").write_text(json.dumps(schema))
    cut = int(rows * 0.6) if rows < 20000 else rows * 2 // 3
    for part, first, last in [("train", 0, min(cut, most or cut)), ("test", cut, rows)]:
        with open(folder / f"{name}_{part}.csv", "w") as file:
            file.write(",".join([*columns, "y"]) + "\n")
            for row in range(first, last):
                cells = [f"{value:.4g}" for value in numbers[row]] + [f"v{of[row]}" for of, _ in categories]
                file.write(",".join([*cells, str(int(target[row])) if bounds is None else f"{target[row]:.5g}"]) + "\n")


def make(folder, seed):
    """Writes all families, and returns their names."""
    rng = np.random.default_rng(seed)

    def drawn(margin):
        return rng.random(len(margin)) < logistic(margin)

    def of(name, *what, **more):
        write(folder, f"{name}_{seed}", *what, **more)

    x = normal(rng, 30000, 12, 0.6)
    of("straight", x, [], drawn(x @ (rng.normal(size=12) * 0.6) - 0.5))

    categories, margin = [], np.zeros(40000) - 0.7
    for values in (4, 8, 15, 30, 60):
        column = rng.choice(values, size=40000, p=rng.dirichlet(np.ones(values) * 0.5))
        categories.append((column, values))
        margin += rng.normal(size=values)[column] * 0.6
    x = normal(rng, 40000, 3, 0.2)
    of("cats", x, categories, drawn(margin + x @ (rng.normal(size=3) * 0.4)))

    x = normal(rng, 20000, 8, 0.3)
    y = np.exp(x @ (rng.normal(size=8) * 0.5) * 0.7 + 0.8 * rng.normal(size=20000))
    of("heavy", x, [], np.clip(y, 0, 200), bounds=(0, 200))

    x = normal(rng, 30000, 8, 0.2)
    shapes = [lambda z: np.sin(2 * z), lambda z: z * z - 1, lambda z: np.abs(z) - 0.8, lambda z: np.cos(2 * z)] * 2
    bent = sum(size * shape(x[:, k]) for k, (size, shape) in enumerate(zip(rng.normal(size=8), shapes)))
    of("bends", x, [], drawn(bent))
    chance = rng.random(30000)
    of("both", x, [], chance < logistic(bent * 0.5 + x @ (rng.normal(size=8) * 0.5)))

    x = normal(rng, 30000, 8, 0.2)
    for k in range(4):
        x[:, k] = np.where(rng.random(30000) < 0.8, 0.0, np.abs(x[:, k]) + 0.2)
    jumps = (x[:, :4] > 0) @ (rng.normal(size=4) * 1.5)
    rest = x[:, :4] @ (rng.normal(size=4) * 0.2) + x[:, 4:] @ (rng.normal(size=4) * 0.3)
    of("spikes", x, [], drawn(jumps + rest - 1))

    x = normal(rng, 8000, 6, 0.3)
    of("few", x, [], drawn(x @ (rng.normal(size=6) * 0.6)), most=1500)

    x = normal(rng, 20000, 8, 0.3)
    y = x @ (rng.normal(size=8) * 0.4) + 0.7 * np.sin(2 * x[:, 0]) + 0.5 * x[:, 1] ** 2 + rng.normal(size=20000)
    of("curvy", x, [], np.clip(y, -10, 10), bounds=(-10, 10))
    return [f"{name}_{seed}" for name in NAMES]
