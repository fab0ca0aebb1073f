"""
A year of monthly files
=======================

Every month brings a file with new rows. Each file joins the model, and is not read again. Before it
does,
:meth:`~cohirf.CoHiRF.drift` says whether its rows look like those of the months before; after it,
``changes_`` says what the rows have changed. Clusters keep their numbers, so that they can be
followed over the year.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN

from cohirf import CoHiRF, open_source
from cohirf.app.explain import say_drift

# %%
# Twelve files
# ------------
#
# Three kinds of rows come all year. A fourth comes from May on, and the third does not come any
# more after August.

MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
CENTRES = np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0], [6.0, 6.0]])


def make_month(month, rng):
    shares = np.array([4, 3, 2 if month < 8 else 0, 2 if month >= 4 else 0])
    kinds = rng.choice(4, size=400, p=shares / shares.sum())
    return CENTRES[kinds] + rng.normal(size=(400, 2)) * 0.6


folder = tempfile.TemporaryDirectory()
rng = np.random.default_rng(0)
files = [Path(folder.name) / f"{number + 1:02}-{name}.npy" for number, name in enumerate(MONTHS)]
for month, path in enumerate(files):
    np.save(path, make_month(month, rng))

# %%
# Update the model month by month
# -------------------------------

model = CoHiRF(DBSCAN(eps=0.5, min_samples=10), random_state=0)
for name, path in zip(MONTHS, files, strict=True):
    source = open_source(path)
    if name != "Jan":
        print(f"{name}: {say_drift(model.drift(source))}")
    model.partial_fit(source)
    if model.changes_.born or model.changes_.gone:
        print(model.changes_)

# %%
# The new kind of rows is told in May, when it comes, and has the next free number. After the update
# it belongs to the model. That the third kind is missing is told from September on, every month:
# the model has all rows of the year, so these months still differ from it. A window of six months
# would get used to it: ``model.forget(updates=month - 6)``.
# Shares of the clusters
# ----------------------
#
# ``labels_`` covers all rows so far, in the order in which they came.

labels = model.labels_.reshape(len(MONTHS), -1)
shares = np.array([(labels == number).mean(axis=1) for number in model.cluster_numbers_])
_, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.stackplot(
    MONTHS, shares, labels=[f"cluster {number}" for number in model.cluster_numbers_], alpha=0.8
)
axes.set(xlabel="month", ylabel="share of the rows of the month", ylim=(0, 1))
axes.legend(loc="lower left")
plt.show()

# %%
# Rows between clusters
# ---------------------
#
# :meth:`~cohirf.CoHiRF.membership` rates how probable each cluster is, and
# :meth:`~cohirf.CoHiRF.score_outliers` how far a row is from all of them.

december = np.load(files[-1])
scores = model.score_outliers(december)
figure, axes = plt.subplots(figsize=(5, 4), layout="constrained")
points = axes.scatter(*december.T, c=scores, s=14, cmap="viridis_r", vmin=0.5, vmax=4)
figure.colorbar(points, ax=axes, label="outlier score")
axes.set(title="December", xlabel="feature 0", ylabel="feature 1")
plt.show()

between = np.array([[3.0, 0.0], [1.0, 0.0], [20.0, 20.0]])
for row, degrees, score in zip(
    between, model.membership(between), model.score_outliers(between), strict=True
):
    print(row, "membership", np.round(degrees, 2), "outlier score", round(float(score), 1))

folder.cleanup()
