"""
The colours of a photograph
===========================

A photograph has 273,280 pixels, and each pixel is a row with three features: red, green and blue.
One fit gives a whole tree of colours, and every cut of it is a palette.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from cohirf import CoHiRF

# %%
# Fit
# ---
#
# Twenty-four clusters, and a tree above them. That takes a few seconds for all pixels; no sample is
# needed.

image = load_sample_image("china.jpg")
pixels = image.reshape(-1, 3).astype(float)
model = CoHiRF(n_clusters=24, random_state=0).fit(pixels)
print(model.hierarchy_)

# %%
# Three cuts of one tree
# ----------------------
#
# Each pixel gets the mean colour of its cluster. The strip below each image is the palette, where
# the width of a colour is its share of the pixels. Four colours are the sky, light stone and two
# dark shades; the finer cuts split these.


def paint(n_colours):
    """Return the image with the given number of colours, the colours, and their shares."""
    labels = model.hierarchy_.cut(n_clusters=n_colours)
    sizes = np.bincount(labels)
    sums = [np.bincount(labels, weights=channel) for channel in pixels.T]
    colours = (np.column_stack(sums) / sizes[:, None]).astype(np.uint8)
    return colours[labels].reshape(image.shape), colours, sizes


figure, axes = plt.subplots(4, 2, figsize=(9, 7), height_ratios=[12, 1] * 2, layout="constrained")
pairs = zip(axes[::2].ravel(), axes[1::2].ravel(), strict=True)
for (above, below), n_colours in zip(pairs, (4, 10, 24, None), strict=True):
    painted, colours, sizes = (image, None, None) if n_colours is None else paint(n_colours)
    above.imshow(painted)
    above.set_title("the photograph" if n_colours is None else f"{n_colours} colours")
    if colours is not None:
        order = np.argsort(colours.sum(axis=1))
        ends = np.cumsum(sizes[order])
        below.barh(0, sizes[order], left=ends - sizes[order], color=colours[order] / 255, height=1)
        below.set_xlim(0, ends[-1])
    above.axis("off")
    below.axis("off")
plt.show()
