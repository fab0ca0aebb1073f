"""
Which genes tell three lymphomas apart?
=======================================

Samples of 62 patients with one of three lymphomas, and the activity of 2,093 genes in each
(Alizadeh and others, 2000). There are many more genes than patients, and most of them say nothing
about the disease. CoHiRF groups patients, and ``explain`` names the genes.

This example reads ``alizadeh-2000-v2.parquet`` (OpenML 46773) in the folder that ``COHIRF_DATA``
names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

# %%
# Fit
# ---
#
# Each view has a fifth of the genes. The disease is not used.

data = pd.read_parquet(
    Path(os.environ.get("COHIRF_DATA", "../shared/data")) / "alizadeh-2000-v2.parquet"
)
genes = data.drop(columns="label")
disease = data["label"].to_numpy()
genes = (genes - genes.mean()) / genes.std()
model = CoHiRF(KMeans(3), views=20, max_features=0.2, random_state=0).fit(genes)
print(f"adjusted Rand index with the diseases: {adjusted_rand_score(disease, model.labels_):.2f}")
print(pd.crosstab(disease, model.labels_, rownames=["disease"], colnames=["cluster"]))

# %%
# The genes of each cluster
# -------------------------
#
# The twelve genes whose mean differs most from that of all other patients, for each cluster.
# Patients are sorted by cluster; orange is a high activity, and purple a low one.

top = [gene for cluster in range(3) for gene in model.explain(cluster, genes).index[:12]]
order = np.lexsort((disease, model.labels_))
figure, (names, heat) = plt.subplots(
    2, 1, figsize=(9, 6), height_ratios=[1, 18], sharex=True, layout="constrained"
)
kinds, codes = np.unique(disease, return_inverse=True)
names.imshow(codes[order][None], aspect="auto", cmap="Set2", vmax=7)
for code, kind in enumerate(kinds):
    names.text(np.median(np.flatnonzero(codes[order] == code)), 0, kind, ha="center", va="center")
names.set(yticks=[], title="the disease, which the fit did not see")
drawn = heat.imshow(
    genes.iloc[order][top].T,
    aspect="auto",
    cmap="PuOr_r",
    vmin=-2.5,
    vmax=2.5,
    interpolation="nearest",
)
for border in np.flatnonzero(np.diff(model.labels_[order])):
    heat.axvline(border + 0.5, color="black", linewidth=1)
    names.axvline(border + 0.5, color="black", linewidth=1)
for cluster in (1, 2):
    heat.axhline(12 * cluster - 0.5, color="black", linewidth=0.5)
heat.set(
    xlabel="patients, sorted by cluster",
    ylabel="genes that set clusters 0, 1 and 2 apart",
    xticks=[],
    yticks=[],
)
figure.colorbar(drawn, ax=heat, label="activity, in standard deviations")
plt.show()
