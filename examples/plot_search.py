"""
Search for a radius with Optuna
===============================

How sensitive is DBSCAN to its radius? Optuna tries radii around the suggested one, and the silhouette of the clusters
is their score. Noise is left out of the score, so a fit that calls more than a tenth of the rows noise gets the worst
one.
"""

# %%
# Three round clusters with some background noise.

import matplotlib.pyplot as plt
import numpy as np
import optuna
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_score

from cohirf import CoHiRF, suggest_eps

rng = np.random.default_rng(0)
X, _ = make_blobs(900, centers=[[0, 0], [6, 0], [3, 5]], random_state=0)
X = np.vstack([X, rng.uniform(X.min(axis=0), X.max(axis=0), size=(30, 2))])

# %%
# The score of one radius.


def score(trial: optuna.Trial) -> float:
    eps = trial.suggest_float("eps", 0.1, 3.0, log=True)
    labels = CoHiRF(DBSCAN(eps=eps), random_state=0).fit_predict(X)
    clustered = labels >= 0
    if clustered.mean() < 0.9 or len(np.unique(labels[clustered])) < 2:
        return -1.0
    return float(silhouette_score(X[clustered], labels[clustered]))


# %%
# The first trial is the radius that :func:`~cohirf.suggest_eps` suggests, so that the best one is not worse.

optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))
study.enqueue_trial({"eps": float(suggest_eps(X, random_state=0).eps)})
study.optimize(score, n_trials=30)
print(f"best radius {study.best_params['eps']:.2f}, silhouette {study.best_value:.2f}")

# %%
# Every trial: between radii of 0.4 and 0.9 the score hardly changes, so the choice hardly matters there. With smaller
# ones too many rows are noise, and with larger ones everything is one cluster.

radii = [trial.params["eps"] for trial in study.trials]
scores = [trial.value for trial in study.trials]
fig, ax = plt.subplots(figsize=(7, 4))
ax.scatter(radii, scores, color="#4477aa")
ax.scatter(radii[0], scores[0], color="#cc6677", label="suggested")
ax.set(xlabel="radius (eps)", ylabel="silhouette without noise")
ax.legend()
plt.show()
