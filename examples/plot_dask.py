"""
A fit on Dask
=============

Handwritten digits: 1,797 images, here as a Dask array in ten chunks, as if they were on ten
machines. Each chunk is clustered where it is. Only the medoids of its groups are sent to the
client, and the labels stay with the chunks.

This example computes in threads; with ``client = distributed.Client(address)`` the same code runs
on a cluster.
"""

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, open_source

# %%
# Fit
# ---

X, y = load_digits(return_X_y=True)
chunks = da.from_array(X, chunks=(180, 64))
model = CoHiRF(n_clusters=10, batch_size=180, random_state=0)
with dask.config.set(scheduler="threads", num_workers=1):
    labels = model.fit(chunks).labels_
    print(labels)
    found = labels.compute()
print(f"adjusted Rand index with the digits: {adjusted_rand_score(y, found):.2f}")

# %%
# The same labels without Dask
# ----------------------------
#
# A fit of a source in this process gives the same labels, row by row.

here = CoHiRF(n_clusters=10, batch_size=180, random_state=0).fit(open_source(X))
print(f"{np.mean(here.labels_ == found):.0%} of the labels are the same")

# %%
# From chunks to clusters
# -----------------------
#
# Above, the exemplars of the ten clusters. Below, how the rows of each chunk are distributed over
# the clusters.

figure, (above, below) = plt.subplots(
    2, 1, figsize=(9, 5), height_ratios=[1, 2], layout="constrained"
)
images = np.hstack([X[row].reshape(8, 8) for row in here.exemplar_indices_])
above.imshow(images, cmap="gray_r")
above.set(
    xticks=np.arange(10) * 8 + 4,
    xticklabels=range(10),
    yticks=[],
    title="exemplars of the clusters",
)
shares = np.array(
    [np.bincount(part, minlength=10) for part in np.array_split(found, len(labels.chunks[0]))]
)
drawn = below.imshow(shares, cmap="Blues", aspect="auto")
below.set(xticks=range(10), yticks=range(len(shares)), xlabel="cluster", ylabel="chunk")
figure.colorbar(drawn, ax=below, label="rows")
plt.show()
