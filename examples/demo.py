"""Cluster real and synthetic data, print what came out, and draw a hierarchy.

    python examples/demo.py [--out demo-hierarchy.png]

`make demo` runs it.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import matplotlib as mpl
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF, FusionHierarchy
from cohirf.datasets import make_spheres
from cohirf.plotting import plot_icicle

mpl.use("Agg")


def experiments():
    """Yield a name, data, true labels, the base method, and how CoHiRF is set up around it."""
    X, y = load_iris(return_X_y=True)
    yield "iris", StandardScaler().fit_transform(X), y, KMeans(3, random_state=0), {}
    X, y = load_digits(return_X_y=True)
    yield "digits", X, y, KMeans(10, random_state=0), {"max_features": 1.0, "n_views": 3, "medoid_weights": True}
    X, y = make_blobs(100_000, 50, centers=10, random_state=0)
    yield "blobs", X, y, KMeans(10, random_state=0), {"max_features": 0.3}
    X, y = make_spheres(100_000, random_state=0)
    batched = {"n_views": 1, "max_features": 1.0, "batch_size": 10_000}
    yield "spheres", X, y, DBSCAN(eps=0.12, min_samples=5), batched


def run(model, X, y):
    """Return the fitted model, its adjusted Rand index, and the seconds it took."""
    started = time.perf_counter()
    labels = model.fit(X).labels_
    return model, adjusted_rand_score(y, labels), time.perf_counter() - started


def describe(options: dict) -> str:
    """Write the options as a person would."""
    return ", ".join(f"{name}={value}" for name, value in options.items()) or "defaults"


def draw_hierarchy(hierarchy: FusionHierarchy, title: str, path: Path) -> None:
    """Draw each level as a row of clusters, each as wide as it has rows, above the clusters it was made of."""
    ax = plot_icicle(hierarchy, max_clusters=100)
    ax.set_title(title, loc="left", pad=18)
    ax.figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("demo-hierarchy.png"))
    out = parser.parse_args().out
    print(f"{'data':<8} {'rows':>8} {'method':<8} {'levels':>6} {'clusters':>8} {'ARI':>6} {'s':>6}   options")
    for name, X, y, base, options in experiments():
        method = type(base).__name__
        alone, ari, seconds = run(base, X, y)
        clusters = len(set(alone.labels_) - {-1})
        print(f"{name:<8} {len(X):>8,} {method:<8} {'-':>6} {clusters:>8} {ari:>6.3f} {seconds:>6.2f}   base alone")
        model, ari, seconds = run(CoHiRF(base, random_state=0, **options), X, y)
        levels, clusters = model.hierarchy_.n_levels, model.n_clusters_
        print(
            f"{'':<8} {'':>8} {'CoHiRF':<8} {levels:>6} {clusters:>8} {ari:>6.3f} {seconds:>6.2f}   {describe(options)}"
        )
        if name == "digits":
            draw_hierarchy(model.hierarchy_, f"Handwritten digits: {len(X):,} rows fuse level by level", out)
    print(f"\nThe hierarchy of the digits is drawn in {out}.")


if __name__ == "__main__":
    main()
