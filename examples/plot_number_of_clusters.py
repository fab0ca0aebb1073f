"""
How many clusters?
==================

Without ``n_clusters``, a fit chooses the number of clusters by their silhouette, and by how many
near neighbours are in the same cluster. The curve says how much to trust the number: a clear peak
is a number that the data suggests, and a flat curve is a question of taste. Whether there are
clusters at all, random halves of the rows tell: do they agree? Four data sets of scikit-learn, and
one made for the purpose.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.app.plotting import plot_choice

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
models = {
    name: CoHiRF(random_state=0).fit(StandardScaler().fit_transform(X)) for name, X in data.items()
}
for name, model in models.items():
    print(f"{name}: {model.choice_.describe()}")

# %%
# The curves
# ----------
#
# The dot is the chosen number: the highest point, or 2 if there are no clear groups.

figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
for name, model in models.items():
    choice = model.choice_
    line = ax.plot(choice.candidates, choice.figures, linewidth=1.8, label=name)[0]
    chosen = choice.figures[choice.candidates == choice.n_clusters]
    ax.plot([choice.n_clusters], chosen, "o", markersize=9, color=line.get_color())
ax.set(
    xlabel="number of clusters",
    ylabel="silhouette and near neighbours together",
    xticks=range(2, 21, 2),
)
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One curve in detail
# -------------------
#
# :func:`~cohirf.app.plotting.plot_choice` draws the same for one model.

plot_choice(models["wine, 3 cultivars"])
plt.show()
