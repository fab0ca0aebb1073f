"""Batched CoHiRF (paper, section 2.4), transcribed literally and slowly: rows are handled one by one, in dictionaries.

One level splits the active rows into batches and holds one batch's worth of rows aside. Each batch runs one iteration
of Algorithm 1 by itself: GetClusters, ChooseMedoids, UpdateParents. The medoids and the held-aside rows are the active
rows of the next level. What the paper leaves open follows DESIGN: the number of batches, blocks of consecutive rows for
data that is read in order, the mass of medoids, and when the levels end.

Random numbers come from the package's generators by place (level, batch, view), so that results can be compared for
equality. The consensus of a batch is that of ``reference.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, nan

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

import reference
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy


@dataclass(frozen=True)
class Level:
    """Sizes of one level, named as in ``CoHiRF.diagnostics_``."""

    n_batches: int
    rows_in: int
    rows_held_aside: int
    rows_out: int

    @property
    def merged(self):
        return self.rows_out < self.rows_in


@dataclass(frozen=True)
class Fit:
    """The result of a fit; lists have one entry for each row of the data."""

    labels: list
    parents: list
    absorbed_at: list
    stability: list
    medoids: list
    levels: list


def cohirf_batched(
    X,
    estimator,
    *,
    batch_size,
    n_views,
    max_features,
    random_state,
    consensus="strict",
    agreement_threshold=0.8,
    majority=0.5,
    medoid="cosine",
    medoid_weights=False,
    min_cluster_size=1,
    max_iter=100,
    sample_weight=None,
    in_order=False,
):
    """Fit as ``CoHiRF`` with the same parameters does; ``in_order`` if the data is a source, not an array."""
    n = len(X)
    entropy = root_entropy(random_state)
    weight = [1.0] * n if sample_weight is None else [float(value) for value in sample_weight]
    weighted = sample_weight is not None or medoid_weights
    crowd = Crowd(X, estimator, batch_size, entropy) if medoid_weights else None
    in_order = in_order and count_batches(n, batch_size) > 1  # a source that fits into one batch is read as an array

    parent = {row: row for row in range(n)}
    absorbed_at = dict.fromkeys(range(n), 0)
    stability = dict.fromkeys(range(n), nan)
    active = [row for row in range(n) if weight[row] > 0]
    mass = {row: weight[row] for row in active}
    kept_values = active  # rows whose values are at hand after the last level
    levels = []
    while len(levels) < max_iter and not has_ended(levels):
        level = len(levels) + 1
        rng = generator_at(entropy, Draw.SPLIT, level)
        if in_order and level == 1:
            batches, held_aside = split_in_order(active, batch_size, rng)
        else:
            batches, held_aside = split_at_random(active, batch_size, rng)
        still_active = list(held_aside)  # with the mass that they had
        for number, batch in enumerate(batches):
            beside = [] if crowd is None or level == 1 else crowd.draw(batch, level, number)
            views = []
            for view in range(n_views):
                rng = generator_at(entropy, Draw.VIEW, level, number, view)
                of_batch = [mass[row] for row in batch] if weighted else None
                views.append(label_view(X, batch, beside, estimator, max_features, rng, of_batch))
            if consensus == "majority":
                clusters = reference.majority_clusters(views, [mass[row] for row in batch], majority)
            else:
                clusters = reference.consensus_clusters(views, agreement_threshold if consensus == "relaxed" else None)
            for members in clusters:
                for i in members:
                    stability[batch[i]] = mean_jaccard(i, members, views)
                rows = sorted(batch[i] for i in members)
                chosen = choose_medoid(X, rows, mass, medoid)
                still_active.append(chosen)
                for row in rows:
                    parent[row] = chosen
                    if row != chosen:
                        absorbed_at[row] = level
                mass[chosen] = sum(mass[row] for row in rows) if medoid_weights else 1.0
        levels.append(Level(len(batches), len(active), len(held_aside), len(still_active)))
        active = sorted(still_active)
        if in_order and level == 1:
            kept_values = active

    for row in range(n):
        if weight[row] == 0:
            nearest = min(kept_values, key=lambda other: squared_distance(X[row], X[other]))
            parent[row] = parent[nearest] if absorbed_at[nearest] == 1 else nearest
            absorbed_at[row] = 1

    labels, medoids = get_final_labels(parent, weight, min_cluster_size)
    return Fit(labels, list(parent.values()), list(absorbed_at.values()), list(stability.values()), medoids, levels)


def has_ended(levels):
    """Return whether one batch of all active rows merged nothing, or two levels in a row merged nothing."""
    if not levels or levels[-1].merged:
        return False
    return levels[-1].rows_held_aside == 0 or (len(levels) > 1 and not levels[-2].merged)


def count_batches(n, batch_size):
    """Return the number of batches, held-aside rows included, whose size is as close to ``batch_size`` as possible."""
    return max(1, floor(n / batch_size + 0.5))


def split_at_random(active, batch_size, rng):
    """Return batches of random rows, each sorted, and the rows of one more batch, which is held aside."""
    n_batches = count_batches(len(active), batch_size)
    if n_batches == 1:
        return [active], []
    positions = list(range(len(active)))
    rng.shuffle(positions)
    held_aside, *batches = cut([active[i] for i in positions], n_batches)
    return [sorted(batch) for batch in batches], held_aside


def split_in_order(active, batch_size, rng):
    """Return batches of consecutive rows; random rows of each, together one batch's worth, are held aside."""
    n_batches = count_batches(len(active), batch_size)
    if n_batches == 1:
        return [active], []
    blocks = cut(active, n_batches - 1)
    shares = cut(range(len(active) // n_batches), n_batches - 1)
    batches, held_aside = [], []
    for block, share in zip(blocks, shares, strict=True):
        drawn = set(rng.choice(len(block), size=len(share), replace=False, shuffle=False))
        batches.append([row for i, row in enumerate(block) if i not in drawn])
        held_aside += [row for i, row in enumerate(block) if i in drawn]
    return batches, held_aside


def cut(items, n_parts):
    """Cut a list into consecutive parts of nearly equal length."""
    bounds = [int(bound) for bound in np.linspace(0, len(items), n_parts + 1)]
    return [items[bounds[k] : bounds[k + 1]] for k in range(n_parts)]


def label_view(X, rows, beside, estimator, max_features, rng, mass):
    """Return the labels of ``rows`` on random features; the base method sees the rows ``beside`` them, too."""
    p = X.shape[1]
    q = max_features if isinstance(max_features, int) else max(1, round(max_features * p))
    features = sorted(rng.choice(p, size=q, replace=False))
    method = clone(estimator)
    parameters = method.get_params()
    if len(rows) == 1:
        return [0]
    if parameters.get("n_clusters", 0) >= len(rows):  # only identical rows can share a cluster
        distinct = sorted({tuple(X[row, features]) for row in rows})
        return [distinct.index(tuple(X[row, features])) for row in rows]
    if "random_state" in parameters:
        method.set_params(random_state=int(rng.integers(2**31 - 1)))
    values = np.array([X[row, features] for row in [*rows, *beside]])
    weights = {"sample_weight": np.array(mass)} if mass is not None and takes_weights(estimator) else {}
    return method.fit(values, **weights).labels_[: len(rows)].tolist()


def takes_weights(estimator):
    return has_fit_parameter(estimator, "sample_weight")


class Crowd:
    """Rows beside the medoids that show their mass to a base method without sample weights (not in the paper)."""

    def __init__(self, X, estimator, batch_size, entropy):
        n_clusters = estimator.get_params().get("n_clusters", 0)
        self.is_needed = not takes_weights(estimator)
        self.n_clusters = n_clusters
        self.n_shown = min(len(X), max(300, 10 * n_clusters), batch_size)
        self.entropy = entropy
        rng = generator_at(entropy, Draw.COMPANIONS)
        self.pool = sorted(rng.choice(len(X), min(len(X), 4 * self.n_shown), replace=False))

    def draw(self, medoids, level, number):
        """Return rows that complete a batch of medoids to the number of rows that the base method is shown."""
        n_drawn = self.n_shown - len(medoids)
        if not self.is_needed or n_drawn <= 0 or self.n_clusters >= len(medoids):
            return []
        drawn = generator_at(self.entropy, Draw.COMPANIONS, level, number).choice(len(self.pool), n_drawn, replace=False)
        return [self.pool[i] for i in sorted(drawn) if self.pool[i] not in medoids]


def mean_jaccard(i, members, views):
    """Return the Jaccard index between the group of a position and its cluster in a view, on average over views."""
    group = set(members)
    total = 0.0
    for labels in views:
        cluster = {j for j in range(len(labels)) if labels[j] == labels[i]} if labels[i] >= 0 else {i}
        total += len(group & cluster) / len(group | cluster)
    return total / len(views)


def choose_medoid(X, rows, mass, medoid):
    """Return the row that is most similar to the others, each counted with its mass; the lowest of equal ones."""
    total = sum(mass[row] for row in rows)
    share = {row: mass[row] / total for row in rows}
    if medoid == "cosine":
        similarity = cosine
    else:
        distance = manhattan_distance if medoid == "laplacian" else squared_distance
        mean = sum(share[a] * share[b] * distance(X[a], X[b]) for a in rows for b in rows) or 1.0
        decay = (lambda d: -d) if medoid == "euclidean" else (lambda d: exp(-d))
        similarity = lambda x, y: decay(distance(x, y) / mean)  # noqa: E731
    score = {a: sum(share[b] * similarity(X[a], X[b]) for b in rows) for a in rows}
    return min(row for row in rows if score[row] >= max(score.values()) - reference.TIE)


def cosine(x, y):
    norms = np.sqrt(x @ x) * np.sqrt(y @ y)
    return x @ y / norms if norms else 0.0


def squared_distance(x, y):
    return float((x - y) @ (x - y))


def manhattan_distance(x, y):
    return float(abs(x - y).sum())


def get_final_labels(parent, weight, min_cluster_size):
    """Return the label of each row, by the first row of its cluster or -1 for small clusters, and the medoids."""
    root = {}
    for row in parent:
        root[row] = row
        while parent[root[row]] != root[row]:
            root[row] = parent[root[row]]
    size = dict.fromkeys(root.values(), 0.0)
    for row in parent:
        size[root[row]] += weight[row]
    medoids = [medoid for medoid in size if size[medoid] >= min_cluster_size]
    return [medoids.index(root[row]) if root[row] in medoids else -1 for row in parent], medoids
