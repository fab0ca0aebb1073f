"""
Rare states of a space shuttle
==============================

Telemetry of radiators of a space shuttle (Statlog): 58,000 moments and nine sensors. Four fifths of
the moments are normal (class 1), and some classes have a dozen. K-Means would cut the normal state
into pieces. DBSCAN finds dense states of any size, and CoHiRF runs it in batches of neighbouring
rows.

This example reads ``shuttle.parquet`` (OpenML 40685) in the folder that ``COHIRF_DATA`` names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.clusterers import GridDBSCAN

# %%
# Fit
# ---
#
# :class:`~cohirf.clusterers.GridDBSCAN` has the clusters of DBSCAN, and is faster. Clusters below
# 10 moments are too small to be a state.

data = pd.read_parquet(Path(os.environ.get("COHIRF_DATA", "../shared/data")) / "shuttle.parquet")
X = StandardScaler().fit_transform(data.drop(columns="label"))
y = data["label"].astype(str).to_numpy()
model = CoHiRF(GridDBSCAN(eps=0.3), batch_size=20_000, min_cluster_size=10, random_state=0).fit(X)
print(f"{model.n_clusters_} states, {np.mean(model.labels_ < 0):.1%} noise")
print(f"adjusted Rand index with the classes: {adjusted_rand_score(y, model.labels_):.2f}")
table = pd.crosstab(model.labels_, y, rownames=["state"], colnames=["class"])
print(table.loc[table.sum(axis=1).sort_values(ascending=False).index].head(10).to_string())

# %%
# Two sensors
# -----------
#
# The two sensors with the greatest differences between states. The largest state is grey.

sizes = np.bincount(model.labels_[model.labels_ >= 0])
means = np.array([X[model.labels_ == state].mean(axis=0) for state in range(model.n_clusters_)])
first, second = np.argsort(-means.std(axis=0))[:2]
shown = np.argsort(-sizes)[:10]
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
is_noise = model.labels_ < 0
ax.scatter(
    X[is_noise, first],
    X[is_noise, second],
    s=6,
    color="#bbbbbb",
    marker="x",
    linewidths=0.6,
    label="noise",
)
for rank, state in enumerate(shown):
    rows = model.labels_ == state
    colour = "#888888" if rank == 0 else plt.get_cmap("tab10")(rank - 1)
    ax.scatter(
        X[rows, first],
        X[rows, second],
        s=9,
        color=colour,
        linewidths=0,
        label=f"{sizes[state]:,} moments",
    )
ax.set(xlabel=f"sensor {first}, standardised", ylabel=f"sensor {second}, standardised")
ax.set_xscale("symlog")
ax.set_yscale("symlog")
ax.legend(markerscale=2, frameon=False, bbox_to_anchor=(1, 1), loc="upper left")
ax.set_title(f"{model.n_clusters_} states of the shuttle, found without classes")
plt.show()
