"""Algorithm 1 of the paper, transcribed literally and slowly.

Parts of the paper that DESIGN corrects are corrected here, too: the most central row is the medoid.
Base labels, features of a view and candidates of a cluster are drawn by the package's own
functions, since they are what the algorithm is given, not what it does.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.get_clusters import sample_features
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy
from cohirf.validation import count_view_features

TIE = 1e-9


def cohirf(
    X,
    estimator,
    *,
    views,
    max_features,
    medoid,
    random_state,
    threshold=None,
    majority=None,
    max_iter=100,
):
    """Return final labels and parents.

    Without ``threshold`` and ``majority`` the consensus is strict.
    """
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
        labels = []
        for view in range(views):
            rng = generator_at(entropy, Draw.VIEW, level, 0, view)
            features = sample_features(rng, p, q)
            labels.append(BaseMethod.of(estimator).label_rows(X[active][:, features], rng))
        if majority is None:
            clusters = consensus_clusters(labels, threshold)
        else:
            clusters = majority_clusters(labels, [1] * len(active), majority)
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
        scores = [
            adjusted_rand_score(full, labels_from_codes(views, [v for v in kept if v != r], n))
            for r in kept
        ]
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


class TieError(Exception):
    """Two choices are equally good, and the result depends on which one is taken."""


def majority_clusters(views, mass, majority):
    """Fuse the two groups of positions that agree most, as long as most views agree on them.

    Rows with equal codes and no noise start together; all others start alone.
    """
    labels = labels_from_codes(views, list(range(len(views))), len(views[0]))
    groups = [[i for i in range(len(labels)) if labels[i] == k] for k in dict.fromkeys(labels)]
    while True:
        pairs = {
            (a, b): agreement(views, mass, groups[a], groups[b])
            for b in range(len(groups))
            for a in range(b)
        }
        best = max(pairs.values(), default=0)
        if best < Fraction(str(majority)):
            return groups
        tied = [set(pair) for pair, value in pairs.items() if value == best]
        a, b = sorted(tied[0])
        # A third group that agrees as much with both will fuse with them, too, whichever pair is
        # first.
        if any(({a, c} in tied) != ({b, c} in tied) for c in range(len(groups)) if c not in (a, b)):
            raise TieError
        groups[a] += groups.pop(b)


def agreement(views, mass, left, right):
    """Return the share of views in which two rows have the same label, on average over the rows of
    two groups.
    """
    agree = total = Fraction(0)
    for i in left:
        for j in right:
            weight = Fraction(mass[i]) * Fraction(mass[j])
            same = sum(view[i] == view[j] and view[i] >= 0 for view in views)
            agree += weight * Fraction(int(same), len(views))
            total += weight
    return agree / total


def labels_of(groups):
    """Return the number of the group of each position."""
    label = {i: number for number, group in enumerate(groups) for i in group}
    return [label[i] for i in range(len(label))]
