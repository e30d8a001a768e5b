# %% [markdown]
# # From a CSV to a published model
#
# A magazine asked married women about their marriages. Whoever holds the answers wants to publish what goes along with
# affairs, and nothing about anybody who answered. Cells run one after the other, in any editor that knows `# %%`.

# %%
import json
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import rhograd
from rhograd import DPLogisticRegression, Ledger, accounting

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "datasets" / "fair.csv"
OUT = Path(tempfile.mkdtemp(prefix="rhograd-tutorial-"))

# %% [markdown]
# ## What is public
#
# Bounds, categories and labels are facts of the questionnaire. They are written down before anybody looks at the answers,
# since whatever is read off the rows would have to be paid for. A column that nothing bounds is an error.

# %%
schema = json.loads((ROOT / "datasets" / "fair.schema.json").read_text())
for name, column in schema["columns"].items():
    print(f"{name:16} {column}")

# %% [markdown]
# ## A budget
#
# All models of these answers together may cost rho = 0.5; the ledger refuses whatever would go beyond. What that means in
# epsilon, and how it grows with the number of releases:

# %%
ledger = Ledger(OUT / "fair.ledger.sqlite")
ledger.set_cap("fair", 0.5)
print("cap: epsilon", round(accounting.epsilon_from_rho(0.5, 1e-5), 3), "at delta 1e-5")

noise = accounting.noise_multiplier(1.0, 1e-5, steps=20)
notions = ["classical", "optimal", "exact"]
axes = accounting.plot_curve("steps", accounting.gaussian(noise), by=notions, steps=100, delta=1e-5)
axes.set_title(f"noise multiplier {noise:.2f}")
axes.figure.savefig(OUT / "epsilon.svg")

# %% [markdown]
# ## A model
#
# One number is needed: epsilon. Features are standardised, clipped and noised by the engine, out of the same budget; there
# is no scaler to fit before, and none should be: it would look at the answers for free.

# %%
model = DPLogisticRegression(epsilon=1, schema=schema, classes=["0", "1"], ledger=ledger.path)
model.fit_csv(DATA)
print(model.privacy_statement_["statement"])
for check, held in model.verify():
    print("ok " if held else "NOT", check)

# %% [markdown]
# ## What it says
#
# Coefficients are in the units of the questionnaire, with intervals that hold sampling and privacy noise.

# %%
numeric = [k for k, name in enumerate(model.coef_names_) if " = " not in name]
names = [model.coef_names_[k] for k in numeric]
values, ends = model.coef_[0][numeric], model.coef_interval_[numeric]
figure, axes = plt.subplots(figsize=(7, 3))
axes.errorbar(values, range(len(names)), xerr=np.abs(ends.T - values), fmt="o", capsize=3)
axes.set_yticks(range(len(names)), names)
axes.axvline(0, color="grey", linewidth=0.5)
axes.set_xlabel("log-odds of an affair per unit")
figure.tight_layout()
figure.savefig(OUT / "coefficients.svg")

# %% [markdown]
# ## Publishing
#
# The file holds the model, its statement, and what the ledger said. Anyone can recompute every number of it with
# `rhograd verify`, and use it without the answers.

# %%
model.save(OUT / "fair.model.json")
asked = {"rate_marriage": [5, 1], "age": [27, 42], "yrs_married": [2.5, 23], "children": [0, 4],
         "religious": [3, 1], "educ": [16, 12], "occupation": [4, 2], "occupation_husb": [4, 2]}  # fmt: skip
print("probabilities:", model.predict_proba(asked)[:, 1].round(3))

# %% [markdown]
# ## What is left
#
# A second model is charged to the same ledger, and one that would go beyond the cap is refused before a single answer is
# looked at through noise.

# %%
(account,) = ledger.accounts()
print(f"spent rho {account['spent_rho']:.4f}, left {account['left_rho']:.4f}")
try:
    model.set_params(epsilon=5).fit_csv(DATA)
except rhograd.RefusedError as refusal:
    print(refusal)
else:
    raise AssertionError("beyond the cap")
print("pictures and model in", OUT)
