"""Are batches too thin for the base method? Checked after the first level, with advice that was tested on samples.

A radius that is right for the data can be wrong for a batch, which has a small share of the rows: the base method then
leaves most rows as singletons or in tiny clusters, and later levels cannot repair that. Rows can be singletons because
the batch is thin, or because they are noise. To decide, the base method clusters twice as many rows: noise rows stay
singletons.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import islice
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import LevelRecord, Resources, run_tasks
from cohirf.algorithm.population import Population
from cohirf.algorithm.randomness import Draw, generator_at

FEW = 0.02  # a batch is not thin if it leaves a smaller share of its rows active, or as singletons
MOST = 0.5  # if the first level left more than this share active, no setting that was measured found good clusters
SAME = 0.95  # adjusted Rand index from which two results count as the same
LEVELLED = 0.7  # singletons are noise if their share in a larger sample is at least this part of that in a smaller one
ALL = 0.9  # a sample with more than this share of singletons does not show which rows are noise
LARGE = 0.01  # share of the rows from which a cluster is not tiny
# Size limits of the largest sample, in batches and in rows: it must not need much more memory and time than a batch.
# Methods with a radius compare neighbours; others may compare all pairs of rows.
MAX_GROWTH, MAX_GROWTH_WITHOUT_RADIUS = 16, 4
MAX_SAMPLE = 20_000
LARGEST_BATCH = 1.5  # largest batch of a level, in units of batch_size
FACTORS = (1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 4.0, 6.0, 8.0)  # factors for the radius
ROUNDS = 20  # number of redraws to advise


class ThinBatchesWarning(ConvergenceWarning):
    """Batches hold too few rows for the base method."""


@dataclass(frozen=True)
class Setting:
    """A batch size, and the radius of the base method; None if it has no radius."""

    batch_size: int
    eps: float | None


@dataclass(frozen=True)
class ThinBatches:
    """The finding that batches are too thin, and settings that help.

    Attributes
    ----------
    now : Setting
        The setting of the fit, with which batches are too thin.
    share_left : float
        Share of the contracted rows that the first level left active.
    advised : tuple of Setting
        Other settings, which worked on samples of the data.
    largest_sample, largest_sample_alone : int, float
        Size of the largest sample that was clustered with the current radius, and the share of its rows that fuse with
        no other row.
    eps_name : str or None
        Name of the base method's parameter that is its radius.
    """

    now: Setting
    share_left: float
    advised: tuple[Setting, ...]
    largest_sample: int
    largest_sample_alone: float
    eps_name: str | None

    @property
    def is_hopeless(self) -> bool:
        """Whether further levels would merge almost nothing."""
        return self.share_left > MOST

    @property
    def message(self) -> str:
        """The text of the warning."""
        finding = (
            f"Batches of {self.now.batch_size:,} rows are too thin for the base method: the first level left "
            f"{self.share_left:.0%} of their rows active, and larger batches would fuse more of them."
        )
        ways = [self._in_words(setting) for setting in self.advised]
        # Redraws help methods with a radius: links within a radius accumulate over rounds, other clusters need not.
        if not self.is_hopeless and self.eps_name is not None:
            ways.append(f"redraws={ROUNDS}")
        if self.advised:
            advice = f"Use {', or '.join(ways)}."
        else:
            parameters = "batch_size" if self.eps_name is None else f"batch_size, {self.eps_name} or both"
            advice = (
                f"Even in a sample of {self.largest_sample:,} rows, {self.largest_sample_alone:.0%} fuse with no other "
                f"row: raise {parameters}{', or use ' + ways[0] if ways else ''}."
            )
        return f"{finding} {advice}{' The fit stops here.' if self.is_hopeless else ''}"

    def _in_words(self, setting: Setting) -> str:
        size = [] if setting.batch_size == self.now.batch_size else [f"batch_size={setting.batch_size}"]
        radius = [] if setting.eps == self.now.eps else [f"{self.eps_name}={setting.eps:.3g}"]
        return " with ".join(size + radius)


def judge_first_level(
    population: Population, record: LevelRecord, contraction: Contraction, resources: Resources
) -> ThinBatches | None:
    """Return the finding that batches are too thin, or None if they are not.

    Methods with a fixed number of clusters hardly leave singletons, and are not checked.

    Parameters
    ----------
    population : Population
        The rows of the fit, of which a sample is read if the first level left many rows active.
    record : LevelRecord
        The record of the first level.
    contraction : Contraction
        How batches are contracted.
    resources : Resources
        Engines that cluster the samples.
    """
    batch_size, method = contraction.batch_size, contraction.views.method
    has_number = method.n_clusters is not None or method.asked is not None
    if batch_size is None or record.rows_held_aside == 0 or has_number:
        return None
    share_left = (record.rows_out - record.rows_held_aside) / (record.rows_in - record.rows_held_aside)
    if share_left <= FEW:
        return None
    eps_name = find_eps(method)
    now = Setting(batch_size, None if eps_name is None else float(method.prototype.get_params()[eps_name]))
    rng = generator_at(contraction.views.entropy, Draw.PROBE)
    rows = population.draw(largest_sample(batch_size, has_radius=eps_name is not None), rng)
    probe = Probe(population, rows, contraction, eps_name, resources)
    if probe.serves(now):
        return None
    largest = Setting(len(rows), now.eps)
    fuses_more = not probe.is_noise(now, largest)
    if not fuses_more and probe.share_alone(now) <= ALL:
        return None
    advised = advise(probe, now)
    if not (fuses_more or advised):
        return None  # the base method fuses nothing even with more rows
    return ThinBatches(now, share_left, advised, len(rows), probe.share_alone(largest), eps_name)


def largest_sample(batch_size: int, *, has_radius: bool) -> int:
    """Return the size of the largest sample that may be clustered."""
    growth = MAX_GROWTH if has_radius else MAX_GROWTH_WITHOUT_RADIUS
    return max(int(LARGEST_BATCH * batch_size), min(growth * batch_size, MAX_SAMPLE))


def advise(probe: Probe, now: Setting) -> tuple[Setting, ...]:
    """Return the smallest larger batch size and the smallest larger radius that work; if neither does, both raised."""
    sizes = [size for size in (now.batch_size * 2**k for k in range(1, 5)) if size <= probe.n_rows]
    larger = next((Setting(size, now.eps) for size in sizes if probe.serves(Setting(size, now.eps))), None)
    if now.eps is None:
        return () if larger is None else (larger,)
    radii = [float(f"{now.eps * factor:.3g}") for factor in FACTORS]
    wider = next((eps for eps in radii if probe.can_replace(Setting(now.batch_size, eps), larger)), None)
    advised = [] if larger is None else [larger]
    advised += [] if wider is None else [Setting(now.batch_size, wider)]
    if advised:
        return tuple(advised)
    both = (Setting(size, eps) for size in sizes for eps in radii)
    return tuple(islice((setting for setting in both if probe.can_replace(setting, None)), 1))


def find_eps(method: BaseMethod) -> str | None:
    """Return the name of the parameter, possibly nested, that is the radius of a density method; None without one."""
    parameters = method.prototype.get_params() if hasattr(method.prototype, "get_params") else {}
    names = [name for name in parameters if name.rsplit("__", 1)[-1] == "eps"]
    return next((name for name in names if isinstance(parameters[name], Real) and np.isfinite(parameters[name])), None)


class Probe:
    """Runs the base method on nested samples of the data: smaller samples are parts of larger ones."""

    def __init__(
        self,
        population: Population,
        rows: IntArray,
        contraction: Contraction,
        eps_name: str | None,
        resources: Resources,
    ) -> None:
        self._population = population.gather(np.sort(rows))  # rows are read once for all samples
        self._rows = np.argsort(np.argsort(rows))
        self._contraction = contraction
        self._eps_name = eps_name
        self._resources = resources
        self._known: dict[Setting, IntArray] = {}

    @property
    def n_rows(self) -> int:
        """Size of the largest sample."""
        return len(self._rows)

    def labels(self, setting: Setting) -> IntArray:
        """Return the consensus labels of a sample of ``setting.batch_size`` rows."""
        if setting not in self._known:
            rows = self._rows[: setting.batch_size]
            order = np.argsort(rows)
            contraction = self._contraction
            if self._eps_name is not None:
                method = clone(contraction.views.method.prototype).set_params(**{self._eps_name: setting.eps})
                contraction = replace(contraction, views=replace(contraction.views, method=BaseMethod.of(method)))
            # levels of a fit start at 1, so samples, at level 0, never share random numbers with it
            task = self._population.task(rows[order], (0, len(self._known)))
            ((_, outcome),) = run_tasks([task], 1, contraction, self._resources)
            labels = np.empty(len(rows), dtype=np.int64)
            labels[order] = outcome.labels
            self._known[setting] = labels
        return self._known[setting]

    def share_alone(self, setting: Setting) -> float:
        """Return the share of the rows of a batch that fuse with no other row (singletons)."""
        labels = self.labels(setting)
        return float((np.bincount(labels) == 1).sum() / len(labels))

    def serves(self, setting: Setting) -> bool:
        """Return whether a batch gives the same clusters as twice as many rows, and its singletons are few or noise."""
        double = Setting(2 * setting.batch_size, setting.eps)
        if double.batch_size > self.n_rows:
            return self.share_alone(setting) <= FEW
        few_or_noise = self.share_alone(setting) <= FEW or self.is_noise(setting, double)
        return self.share_alone(setting) <= ALL and few_or_noise and self.agree(setting, double)

    def is_noise(self, setting: Setting, larger: Setting) -> bool:
        """Return whether singletons are noise: a larger batch has about the same share of them."""
        return self.share_alone(larger) >= LEVELLED * self.share_alone(setting)

    def agree(self, setting: Setting, other: Setting) -> bool:
        """Return whether two batches cluster their common rows in the same way."""
        n_rows = min(setting.batch_size, other.batch_size)
        return bool(adjusted_rand_score(self.labels(setting)[:n_rows], self.labels(other)[:n_rows]) >= SAME)

    def can_replace(self, setting: Setting, reference: Setting | None) -> bool:
        """Return whether a setting with a larger radius works and does not merge separate clusters.

        The ``reference``, with the user's radius, shows which clusters are separate. Without a reference, there must be
        at least two large clusters.
        """
        if not self.serves(setting):
            return False
        if reference is not None:
            return self.agree(setting, reference)
        sizes = np.bincount(self.labels(setting))
        return bool((sizes >= LARGE * sizes.sum()).sum() > 1)
