"""Batched CoHiRF (paper, section 2.4), transcribed literally and slowly: rows are handled one by
one, in dictionaries.

One level splits the active rows into batches and holds one batch's worth of rows aside. Each batch
runs one iteration of Algorithm 1 by itself: GetClusters, ChooseMedoids, UpdateParents. The medoids
and the held-aside rows are the active rows of the next level. What the paper leaves open follows
DESIGN: the number of batches, blocks of consecutive rows for data that is read in order, the mass
of medoids, and when the levels end. Local batches are left out.

Random numbers come from the package's generators by place (level, batch, view), so that results can
be compared for equality. The consensus of a batch is that of ``reference.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, floor, nan
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

import reference
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy
from cohirf.fitting import settings as contraction


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


@dataclass(frozen=True, kw_only=True)
class BatchedCoHiRF:
    """The parameters of ``CoHiRF`` that concern batches.

    The data is a source with ``in_order``, and arrives in updates with ``in_blocks``; otherwise, it
    is an array.
    """

    estimator: Any
    batch_size: int
    views: int
    max_features: int | float
    random_state: int
    consensus: str = "strict"
    medoid: str = "cosine"
    medoid_weights: bool = False
    min_cluster_size: int = 1
    max_iter: int = 100
    in_order: bool = False
    in_blocks: bool = False

    def fit(self, X, sample_weight=None):
        """Return the result of all levels."""
        fit = Fit(X, sample_weight)
        entropy = root_entropy(self.random_state)
        # A source that fits into one batch is read as an array.
        in_order = self.in_order and count_batches(len(X), self.batch_size) > 1
        active = fit.rows_at_hand
        while len(fit.levels) < self.max_iter and not has_ended(fit.levels):
            level = len(fit.levels) + 1
            split = split_in_order if in_order and level == 1 else split_at_random
            if self.in_blocks and level == 1 and count_batches(len(active), self.batch_size) > 1:
                split = split_into_blocks
            batches, held_aside = split(
                active, self.batch_size, generator_at(entropy, Draw.SPLIT, level)
            )
            medoids = []
            for number, batch in enumerate(batches):
                medoids += self.contract(fit, batch, entropy, (level, number))
            still_active = sorted(medoids + held_aside)  # held-aside rows keep their mass
            fit.levels.append(Level(len(batches), len(active), len(held_aside), len(still_active)))
            active = still_active
            if in_order and level == 1:
                fit.rows_at_hand = active  # the others are not read again
        fit.join_rows_of_weight_0()
        fit.get_final_labels(self.min_cluster_size)
        return fit

    def contract(self, fit, batch, entropy, place):
        """Run one iteration of Algorithm 1 on a batch, and return its medoids."""
        views = [self.label_view(fit, batch, entropy, place, view) for view in range(self.views)]
        clusters = self.get_clusters(views, [fit.mass[row] for row in batch])
        candidates = self.draw_candidates(
            clusters, views, generator_at(entropy, Draw.MEDOIDS, *place)
        )
        medoids = []
        for members, some in zip(clusters, candidates, strict=True):
            rows = [batch[i] for i in members]
            medoid = choose_medoid(fit.X, [batch[i] for i in some], fit.mass, self.medoid)
            medoids.append(medoid)
            fit.update_parents(rows, medoid, level=place[0])
            fit.mass[medoid] = sum(fit.mass[row] for row in rows) if self.medoid_weights else 1.0
            for i in members:
                fit.stability[batch[i]] = mean_jaccard(i, members, views)
        return medoids

    def label_view(self, fit, batch, entropy, place, view):
        """Return the labels of the base method on one view of a batch."""
        rng = generator_at(entropy, Draw.VIEW, *place, view)
        p = fit.X.shape[1]
        q = (
            self.max_features
            if isinstance(self.max_features, int)
            else max(1, round(self.max_features * p))
        )
        features = sorted(rng.choice(p, size=q, replace=False))
        if len(batch) == 1:
            return [0]
        method = clone(self.estimator)
        parameters = method.get_params()
        if parameters.get("n_clusters", 0) >= len(batch):  # only identical rows can share a cluster
            distinct = sorted({tuple(fit.X[row, features]) for row in batch})
            return [distinct.index(tuple(fit.X[row, features])) for row in batch]
        if "random_state" in parameters:
            method.set_params(random_state=int(rng.integers(2**31 - 1)))
        if not has_fit_parameter(method, "sample_weight"):
            beside = (
                self.draw_companions(fit, batch, entropy, place)
                if self.medoid_weights and place[0] > 1
                else []
            )
            return method.fit(take(fit.X, batch + beside, features)).labels_[: len(batch)].tolist()
        weighted = fit.has_weights or self.medoid_weights
        weights = np.array([fit.mass[row] for row in batch]) if weighted else None
        return method.fit(take(fit.X, batch, features), sample_weight=weights).labels_.tolist()

    def get_clusters(self, views, mass):
        """Return the consensus of the views: lists of positions in the batch."""
        if self.consensus == "majority":
            return reference.majority_clusters(views, mass, contraction.GROUP.majority)
        return reference.consensus_clusters(
            views, None if self.consensus == "strict" else self.consensus
        )

    def draw_candidates(self, clusters, views, rng):
        """Return the members of each cluster among which the medoid is chosen.

        Only without a sum form are they few.

        Each row draws a number, and those with the lowest are the candidates. Rows draw in the
        order of their codes under strict consensus, noise last; the order under another consensus
        is not transcribed.
        """
        most = contraction.GROUP.candidates
        if self.medoid in ("cosine", "euclidean") or all(
            len(members) <= most for members in clusters
        ):
            return clusters
        assert self.consensus == "strict"
        codes = [[labels[members[0]] for labels in views] for members in clusters]
        numbered = sorted(
            range(len(clusters)),
            key=lambda k: (True, clusters[k]) if min(codes[k]) < 0 else (False, codes[k]),
        )
        candidates = dict.fromkeys(numbered)
        for k in numbered:
            drawn = {i: rng.random() for i in clusters[k]}
            candidates[k] = sorted(clusters[k], key=drawn.get)[:most]
        return [candidates[k] for k in range(len(clusters))]

    def draw_companions(self, fit, batch, entropy, place):
        """Return rows of the data that are shown beside medoids to a method without sample weights
        (not in the paper).

        They are drawn from the same larger sample of the data in all batches.
        """
        n = len(fit.X)
        n_shown = min(
            n, self.batch_size, max(300, 10 * self.estimator.get_params().get("n_clusters", 0))
        )
        pool = sorted(
            generator_at(entropy, Draw.COMPANIONS).choice(n, min(n, 4 * n_shown), replace=False)
        )
        rng = generator_at(entropy, Draw.COMPANIONS, *place)
        drawn = rng.choice(len(pool), max(0, n_shown - len(batch)), replace=False)
        return [pool[i] for i in sorted(drawn) if pool[i] not in batch]


class Fit:
    """What is known of each row, by row number, and the levels so far."""

    def __init__(self, X, sample_weight):
        rows = range(len(X))
        self.X = X
        self.has_weights = sample_weight is not None
        self.weight = {row: float(sample_weight[row]) if self.has_weights else 1.0 for row in rows}
        self.mass = dict(self.weight)
        self.parent = {row: row for row in rows}
        self.absorbed_at = dict.fromkeys(rows, 0)
        self.stability = dict.fromkeys(rows, nan)
        self.rows_at_hand = [row for row in rows if self.weight[row] > 0]
        self.levels = []

    def update_parents(self, rows, medoid, level):
        """Let a medoid represent rows."""
        for row in rows:
            self.parent[row] = medoid
            if row != medoid:
                self.absorbed_at[row] = level

    def join_rows_of_weight_0(self):
        """Let each row without weight join the first-level cluster of the nearest row whose values
        are still known.
        """
        for row in self.parent:
            if self.weight[row] == 0:
                distance = {
                    other: squared_distance(self.X[row], self.X[other])
                    for other in self.rows_at_hand
                }
                nearest = [other for other in distance if distance[other] == min(distance.values())]
                medoids = {
                    self.parent[other] if self.absorbed_at[other] == 1 else other
                    for other in nearest
                }
                if len(medoids) > 1:
                    raise reference.TieError
                self.update_parents([row], medoids.pop(), level=1)

    def get_final_labels(self, min_cluster_size):
        """Follow parents to the root, and number clusters by their first row.

        Rows of small clusters get -1.
        """
        root = {}
        size = {}
        for row in self.parent:
            root[row] = row
            while self.parent[root[row]] != root[row]:
                root[row] = self.parent[root[row]]
            size[root[row]] = size.get(root[row], 0) + self.weight[row]
        self.medoids = [medoid for medoid in size if size[medoid] >= min_cluster_size]
        number = {medoid: label for label, medoid in enumerate(self.medoids)}
        self.labels = {row: number.get(root[row], -1) for row in self.parent}


def has_ended(levels):
    """Return whether one batch of all active rows merged nothing, or two levels in a row merged
    nothing.
    """
    if not levels or levels[-1].merged:
        return False
    return levels[-1].rows_held_aside == 0 or (len(levels) > 1 and not levels[-2].merged)


def count_batches(n, batch_size):
    """Return the number of batches, held-aside rows included, whose size is as close to
    ``batch_size`` as possible.
    """
    return max(1, floor(n / batch_size + 0.5))


def split_at_random(active, batch_size, rng):
    """Return batches of random rows, each sorted, and the rows of one more batch, which is held
    aside.
    """
    n_batches = count_batches(len(active), batch_size)
    if n_batches == 1:
        return [active], []
    positions = list(range(len(active)))
    rng.shuffle(positions)
    held_aside, *batches = cut([active[i] for i in positions], n_batches)
    return [sorted(batch) for batch in batches], held_aside


def split_in_order(active, batch_size, rng):
    """Return batches of consecutive rows.

    Random rows of each, together one batch's worth, are held aside.
    """
    n_batches = count_batches(len(active), batch_size)
    if n_batches == 1:
        return [active], []
    blocks = cut(active, n_batches - 1)
    shares = cut(range(len(active) // n_batches), n_batches - 1)
    batches = []
    held_aside = []
    for block, share in zip(blocks, shares, strict=True):
        drawn = set(rng.choice(len(block), size=len(share), replace=False, shuffle=False))
        batches.append([row for i, row in enumerate(block) if i not in drawn])
        held_aside += [row for i, row in enumerate(block) if i in drawn]
    return batches, held_aside


def split_into_blocks(active, batch_size, rng):
    """Return blocks of ``batch_size`` consecutive rows, and the rows that do not fill a block,
    which are held aside.
    """
    n_blocks = len(active) // batch_size
    blocks = [active[k * batch_size : (k + 1) * batch_size] for k in range(n_blocks)]
    return blocks, active[n_blocks * batch_size :]


def cut(items, n_parts):
    """Cut a list into consecutive parts of nearly equal length."""
    bounds = [int(bound) for bound in np.linspace(0, len(items), n_parts + 1)]
    return [items[bounds[k] : bounds[k + 1]] for k in range(n_parts)]


def take(X, rows, features):
    return np.array([X[row, features] for row in rows])


def mean_jaccard(i, members, views):
    """Return the Jaccard index between the group of a position and its cluster in a view, on
    average over views.
    """
    group = set(members)
    total = 0.0
    for labels in views:
        cluster = (
            {j for j in range(len(labels)) if labels[j] == labels[i]} if labels[i] >= 0 else {i}
        )
        total += len(group & cluster) / len(group | cluster)
    return total / len(views)


def choose_medoid(X, rows, mass, medoid):
    """Return the row that is most similar to the others, each counted with its mass.

    The lowest of equal ones.
    """
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
