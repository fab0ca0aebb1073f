"""
What tells two kinds of tumours apart?
======================================

Each of 569 rows is a tumour of the breast, seen through a microscope: thirty measurements of its
cells, such as their radius and the smoothness of their outlines. CoHiRF groups the tumours, and
``explain`` names the measurements that set each group apart.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

# %%
# Fit
# ---
#
# Each of twenty views has a random half of the measurements. The diagnosis is not used.

data = load_breast_cancer(as_frame=True)
diagnosis = data.target_names[data.target]
measured = (data.data - data.data.mean()) / data.data.std()
model = CoHiRF(KMeans(2), views=20, max_features=0.5, random_state=0).fit(measured)
index = adjusted_rand_score(diagnosis, model.labels_)
print(f"adjusted Rand index with the diagnosis: {index:.2f}")
print(pd.crosstab(diagnosis, model.labels_, rownames=["diagnosis"], colnames=["cluster"]))

# %%
# The measurements of each cluster
# --------------------------------
#
# The measurements whose mean differs most between the clusters. Tumours are sorted by cluster;
# orange is a high value, and purple a low one.

top = model.explain(0, measured).index[:12]
order = np.lexsort((diagnosis, model.labels_))
figure, (names, heat) = plt.subplots(
    2, 1, figsize=(9, 5), height_ratios=[1, 12], sharex=True, layout="constrained"
)
names.imshow((diagnosis[order] == "malignant")[None], aspect="auto", cmap="Set2", vmax=7)
for cluster in (0, 1):
    for kind in data.target_names:
        tumours = np.flatnonzero((model.labels_[order] == cluster) & (diagnosis[order] == kind))
        names.text(np.median(tumours), 0, len(tumours), ha="center", va="center")
names.set(yticks=[], title="the diagnosis, which the fit did not see: malignant (orange) or benign")
drawn = heat.imshow(
    measured.iloc[order][top].T,
    aspect="auto",
    cmap="PuOr_r",
    vmin=-2.5,
    vmax=2.5,
    interpolation="nearest",
)
heat.axvline(np.sum(model.labels_ == 0) - 0.5, color="black", linewidth=1)
heat.set(xlabel="tumours, sorted by cluster", xticks=[], yticks=range(12), yticklabels=top)
figure.colorbar(drawn, ax=heat, label="standard deviations from the mean")
plt.show()
