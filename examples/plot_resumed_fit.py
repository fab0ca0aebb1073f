"""
A fit that was killed, and resumed
==================================

A long fit stores the result of each batch in a folder, its checkpoint. Here the base method raises
an error in the middle of a fit, as if the power had failed. The same call resumes it, and gives the
labels of a fit that was never disturbed. The data are images of handwritten digits.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.datasets import load_digits

from cohirf import CoHiRF

# %%
# A method that fails once
# ------------------------
#
# Ward's method, which notes each of its calls, and fails at the eighth.

calls = []


class Unlucky(AgglomerativeClustering):
    """Ward's method, interrupted once."""

    def fit(self, X, y=None):
        """Cluster rows."""
        calls.append(len(X))
        if len(calls) == 8:
            raise RuntimeError("the power went")
        return super().fit(X)


X, _ = load_digits(return_X_y=True)
options = {"batch_size": 120, "random_state": 0, "medoid_weights": False}

# %%
# Killed, and resumed
# -------------------

with tempfile.TemporaryDirectory() as folder:
    model = CoHiRF(Unlucky(10), checkpoint=Path(folder) / "checkpoint", **options)
    try:
        model.fit(X)
    except RuntimeError as error:
        print("the fit ended:", error)
    first = len(calls)
    model.fit(X)
second = len(calls) - first
undisturbed = CoHiRF(Unlucky(10), **options).fit(X)
whole = len(calls) - first - second
print(
    f"calls of Ward's method: {first} until the error, {second} after it, {whole} in an "
    "undisturbed fit"
)
print("the labels are the same:", bool(np.array_equal(model.labels_, undisturbed.labels_)))

# %%
# What was computed when
# ----------------------
#
# Each bar is a call of Ward's method, and its height the number of rows of the batch. The resumed
# fit computes the batches that were missing. The images are the exemplars.

figure, axes = plt.subplots(2, 1, figsize=(9, 5), height_ratios=[3, 2], layout="constrained")
colours = ["#0072B2"] * (first - 1) + ["#D55E00"] + ["#009E73"] * second
axes[0].bar(range(first + second), calls[: first + second], color=colours)
axes[0].axvline(first - 0.5, color="black", linestyle="--")
axes[0].text(first - 0.4, 1.03 * max(calls), "killed, then resumed", va="bottom")
axes[0].set(
    xlabel="call of the base method", ylabel="rows of the batch", ylim=(0, 1.2 * max(calls))
)
images = np.hstack([X[row].reshape(8, 8) for row in model.exemplar_indices_])
axes[1].imshow(images, cmap="gray_r")
axes[1].set_title("exemplars of the ten clusters")
axes[1].axis("off")
plt.show()
