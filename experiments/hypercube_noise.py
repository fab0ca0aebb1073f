"""Figure: the hypercube under more and more features of noise, tuned and untuned."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF, FeatureScreen
from cohirf.datasets import make_hypercube
from experiments.budgets import BUDGETS
from experiments.cells import tune_model
from experiments.circumstances import describe_run
from experiments.figures import draw_lines, figure_table
from experiments.keeping import is_kept, kept
from experiments.methods import RELAXED
from experiments.tuning import paper_space

N_ROWS = 1000
N_CLUSTERS = 5
NOISE = {"small": (10, 100, 1000), "full": (10, 100, 1000, 3000, 10_000)}
FRACTION = 0.6  # of features in a view, where it is not tuned

UNTUNED: dict[str, Any] = {
    "K-Means": KMeans(N_CLUSTERS),
    "CoHiRF": CoHiRF.as_published(KMeans(N_CLUSTERS), max_features=FRACTION),
    "R-CoHiRF": CoHiRF.as_published(KMeans(N_CLUSTERS), max_features=FRACTION, **RELAXED),
    "CoHiRF, screening": make_pipeline(
        FeatureScreen(), CoHiRF.as_published(KMeans(N_CLUSTERS), max_features=FRACTION)
    ),
}
TUNED: dict[str, Any] = {
    "K-Means, tuned": KMeans(),
    "CoHiRF, tuned": CoHiRF.as_published(KMeans()),
    "R-CoHiRF, tuned": CoHiRF.as_published(KMeans(), **RELAXED),
}


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Fit and tune all methods for all amounts of noise, and draw the figure."""
    results = []
    n_trials = BUDGETS[budget].n_trials
    for n_noise in NOISE[budget]:
        for seed in range(BUDGETS[budget].n_seeds):
            for method, model in (UNTUNED | TUNED).items():
                about = {
                    "figure": "hypercube noise",
                    "n_noise": n_noise,
                    "method": method,
                    "seed": seed,
                }
                compute = partial(fit, model, n_noise, seed)
                if method in TUNED:
                    about["n_trials"] = n_trials
                    compute = partial(tune, model, n_noise, seed, n_trials)
                if only_kept and not is_kept(folder / "cells", about):
                    continue
                results.append(kept(folder / "cells", about, compute))
                say(
                    f"{n_noise} features of noise, {method}, seed {seed}: "
                    f"{results[-1]['score']:.3f}"
                )
    frame = pd.DataFrame(results)
    frame.drop(columns="params", errors="ignore").to_parquet(
        folder / "hypercube_noise.parquet", index=False
    )
    title = f"Hypercube, {N_ROWS:,} rows, {N_CLUSTERS} clusters in 3 features"
    draw_lines(frame, "n_noise", "features of noise", folder / "hypercube_noise.png", title)
    lines = [
        f"# {title}",
        "",
        *describe_run(f"python -m experiments hypercube_noise --budget {budget}"),
        "",
    ]
    lines += ["![Adjusted Rand index and time](hypercube_noise.png)", ""]
    lines += figure_table(frame, "n_noise", "features of noise")
    (folder / "hypercube_noise.md").write_text("\n".join([*lines, ""]))


def fit(model: Any, n_noise: int, seed: int) -> dict[str, Any]:
    """Fit a model as it is."""
    X, y = make_hypercube(N_ROWS, n_noise=n_noise, random_state=seed)
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        started = time.process_time()
        seeds = [
            name
            for name in model.get_params()
            if name.endswith("random_state") and "estimator__" not in name
        ]
        labels = clone(model).set_params(**dict.fromkeys(seeds, seed)).fit_predict(X)
    return {"score": adjusted_rand_score(y, labels), "seconds": time.process_time() - started}


def tune(model: Any, n_noise: int, seed: int, n_trials: int) -> dict[str, Any]:
    """Tune a model for the adjusted Rand index."""
    X, y = make_hypercube(N_ROWS, n_noise=n_noise, random_state=seed)
    return tune_model(
        model, X, y, space=paper_space(model), metric="ari", n_trials=n_trials, seed=seed
    )
