"""Algorithm 1 of the paper, transcribed literally and slowly.

Parts of the paper that DESIGN corrects are corrected here, too: the most central row is the medoid. Base labels,
features of a view and candidates of a cluster are drawn by the package's own functions, since they are what the
algorithm is given, not what it does.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.get_clusters import sample_features
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy
from cohirf.validation import count_view_features

TIE = 1e-9


def cohirf(X, estimator, *, n_views, max_features, threshold, medoid, random_state, max_iter=100):
    """Return final labels and parents; ``threshold=None`` is the strict consensus."""
    n, p = X.shape
    entropy = root_entropy(random_state)
    q = count_view_features(max_features, p)
    parents = list(range(n))
    active = list(range(n))
    level = 0
    n_before = 0
    while n_before != len(active) and level < max_iter:
        level += 1
        n_before = len(active)
        views = []
        for view in range(n_views):
            rng = generator_at(entropy, Draw.VIEW, level, 0, view)
            features = sample_features(rng, p, q)
            views.append(BaseMethod.of(estimator).label_rows(X[active][:, features], rng))
        clusters = consensus_clusters(views, threshold)
        chosen = []
        for members in clusters:
            rows = [active[i] for i in members]
            best = choose_medoid(X, rows, medoid)
            chosen.append(best)
            for row in rows:
                parents[row] = best
        active = sorted(chosen)
    return final_labels(parents), parents


def consensus_clusters(views, threshold):
    """Group positions by identical codes, after dropping views where the consensus is relaxed."""
    kept = list(range(len(views)))
    n = len(views[0])
    while threshold is not None and len(kept) > 1:
        full = labels_from_codes(views, kept, n)
        scores = [adjusted_rand_score(full, labels_from_codes(views, [v for v in kept if v != r], n)) for r in kept]
        worst = int(np.argmin(scores))
        if scores[worst] >= threshold:
            break
        kept.remove(kept[worst])
    labels = labels_from_codes(views, kept, n)
    return [[i for i in range(n) if labels[i] == k] for k in dict.fromkeys(labels)]


def labels_from_codes(views, kept, n):
    """Return a label per position: equal for equal codes, one of its own for noise."""
    codes = []
    for i in range(n):
        code = tuple(int(views[view][i]) for view in kept)
        codes.append(("noise", i) if min(code) < 0 else code)
    names = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return [names[code] for code in codes]


def choose_medoid(X, rows, medoid):
    """Return the row with the highest mean similarity to the others; the lowest of equal ones."""
    similarity = medoid(X[rows])
    scores = [sum(similarity[i]) / len(rows) for i in range(len(rows))]
    return min(row for row, score in zip(rows, scores, strict=True) if score >= max(scores) - TIE)


def cosine(X):
    norms = [np.sqrt(sum(x * x)) for x in X]
    return [[sum(a * b) / (s * t) if s * t else 0.0 for b, t in zip(X, norms, strict=True)]
            for a, s in zip(X, norms, strict=True)]  # fmt: skip


def negative_squared_distance(X):
    similarity = np.array([[-sum((a - b) ** 2) for b in X] for a in X])
    scale = -similarity.mean()
    return similarity / scale if scale else similarity


def rbf(X):
    distances = np.array([[sum((a - b) ** 2) for b in X] for a in X])
    return np.exp(-distances / (distances.mean() or 1.0))


def laplacian(X):
    distances = np.array([[sum(abs(a - b)) for b in X] for a in X])
    return np.exp(-distances / (distances.mean() or 1.0))


def final_labels(parents):
    """Follow parents to the root and number roots in order of first appearance."""
    roots = []
    for row in range(len(parents)):
        while parents[row] != row:
            row = parents[row]
        roots.append(row)
    names = {root: number for number, root in enumerate(dict.fromkeys(roots))}
    return [names[root] for root in roots]
