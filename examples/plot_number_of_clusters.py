"""
How many clusters?
==================

Without ``n_clusters``, a fit chooses the number of clusters by its prediction strength, how well the clusters of one
half of the rows predict those of the other half, and by the silhouette. The curve says how much to trust the number: a
strength near 1 that then falls steeply is a number that the data suggests, and a curve that falls slowly is a question
of taste.
Four data sets of scikit-learn, and one made for the purpose.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.plotting import plot_choice

# %%
# One fit for each data set
# -------------------------

data = {
    "blobs, 6 groups": make_blobs(1_000, n_features=8, centers=6, cluster_std=2, random_state=0)[0],
    "iris, 3 species": load_iris().data,
    "wine, 3 cultivars": load_wine().data,
    "breast cancer, 2 diagnoses": load_breast_cancer().data,
    "digits, 10 digits": load_digits().data,
}
models = {name: CoHiRF(random_state=0).fit(StandardScaler().fit_transform(X)) for name, X in data.items()}
for name, model in models.items():
    print(f"{name}: {model.choice_.describe()}")

# %%
# The curves
# ----------
#
# The dot is the chosen number. If clusters are compact, their silhouette counts, too, so it is not always the highest.

figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
for name, model in models.items():
    choice = model.choice_
    line = ax.plot(choice.candidates, choice.strengths, linewidth=1.8, label=name)[0]
    chosen = choice.strengths[choice.candidates == choice.n_clusters]
    ax.plot([choice.n_clusters], chosen, "o", markersize=9, color=line.get_color())
ax.set(xlabel="number of clusters", ylabel="prediction strength", ylim=(0, 1.05))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One curve in detail
# -------------------
#
# :func:`~cohirf.plotting.plot_choice` draws what the numbers were compared by, and the line above which they are nearly
# the best.

plot_choice(models["wine, 3 cultivars"])
plt.show()
