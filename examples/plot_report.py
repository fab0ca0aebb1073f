"""
A report for people who do not write code
=========================================

Customers of a shop, in a table that nobody has cleaned. Four lines prepare it, cluster it, and
write a page that opens without a network; :doc:`/understand/report` shows it. The two plots below
are on that page, too.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from synthetic import make_customers

from cohirf import CoHiRF
from cohirf.app.explain import describe_clusters, write_report
from cohirf.app.plotting import plot_heatmap, plot_map
from cohirf.app.preparation import prepare

# sphinx_gallery_thumbnail_path = 'understand/images/report-desktop-light.png'

# %%
# From a table to a page
# ----------------------

customers, segment = make_customers(2_000, random_state=0)
prepared = prepare(customers)
model = CoHiRF(random_state=0).fit(prepared.rows())
page = write_report(model, prepared, Path(tempfile.mkdtemp()) / "customers.html", title="Customers")
print(f"{page.name}, {page.stat().st_size / 1e6:.1f} MB")
print(model.choice_.describe())

# %%
# Map
# ---
#
# Each point is a customer; numbered discs are the most typical customers of the clusters.

rows = prepared.array()
description = describe_clusters(model, preparation=prepared.preparation)
plot_map(model, rows, names=[cluster.name for cluster in description.clusters])
plt.show()

# %%
# What sets the clusters apart
# ----------------------------

figure, ax = plt.subplots(figsize=(10, 4.5), layout="constrained")
plot_heatmap(model, rows, feature_names=prepared.feature_names, ax=ax)
plt.show()
