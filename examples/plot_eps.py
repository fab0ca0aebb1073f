"""
Which eps?
==========

DBSCAN needs a radius. :func:`cohirf.suggest_eps` sorts the distances of rows to their fifth
neighbour, and suggests the knee of this curve. Worms, spirals, a ring and lumps in noise show what
a radius does that is too small or too large.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score
from synthetic import make_shapes

from cohirf import CoHiRF, suggest_eps
from cohirf.app.plotting import plot_eps
from cohirf.app.plotting.canvas import cluster_colours

# %%
# The suggestion
# --------------

X, y = make_shapes(8_000, random_state=0)
suggestion = suggest_eps(X, random_state=0)
print(suggestion.describe())

# %%
# The curve, and three radii
# --------------------------
#
# :func:`~cohirf.app.plotting.plot_eps` draws the sorted distances, with the suggestion at their knee.
# With half of the radius, clusters break into pieces, and many rows are noise (grey). With six times
# the radius, noise connects clusters.

figure, axes = plt.subplots(2, 2, figsize=(9, 6.4), layout="constrained")
plot_eps(suggestion, ax=axes[0, 0])
for factor, ax in zip((0.5, 1, 6), axes.ravel()[1:], strict=True):
    model = CoHiRF(
        DBSCAN(eps=factor * suggestion.eps), batch_size=2_000, min_cluster_size=10, random_state=0
    ).fit(X)
    noise = model.labels_ < 0
    ax.scatter(*X[noise].T, s=1, color="#cccccc", linewidths=0)
    colours = cluster_colours(np.arange(model.n_clusters_))
    ax.scatter(*X[~noise].T, s=2, color=colours[model.labels_[~noise]], linewidths=0)
    score = adjusted_rand_score(y, model.labels_)
    ax.set_title(
        f"eps={factor * suggestion.eps:.3f}: {model.n_clusters_} clusters, {noise.mean():.0%} "
        f"noise, ARI {score:.2f}"
    )
    ax.axis("off")
plt.show()
