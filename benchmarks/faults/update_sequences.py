"""Is a model whole after any sequence of updates?

Each sequence draws small data (blobs, tied or sparse rows, a few distinct rows), a base method,
parameters and steps at random: fit, partial_fit, forget, merge, save and load, and calls that must
fail. After each step, everything that holds for every state of a model is checked, against rows,
weights and labels that are kept beside it; so are cut, predict, transform, membership,
score_outliers, explain and, at the end, a report. The limits beyond which a model thins or
contracts its rows are lowered in half of the sequences, so that small models do what large ones do.

    python -m benchmarks.faults.update_sequences [--sequences 1000] [--first 0]

Sequence n is the same in every run: ``--sequences 1 --first n`` repeats it.
"""

from __future__ import annotations

import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from copy import copy, deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, FusionHierarchy, load, merge
from cohirf.algorithm.base_method import find_weight_argument
from cohirf.app.explain import write_report
from cohirf.clusterers import GridDBSCAN
from cohirf.summary.policy import HISTORY
from cohirf.updating import blocks

# What a call may refuse: the messages say what to do instead.
REFUSALS = (
    "rows would be forgotten",
    "rows all have weight 0",
    "Sample weights must contain at least one non-zero number",
    "This model cannot be updated",
    "exemplars_only=True needs models in which every row has a cluster",
    "exemplars_only=True does not work",
)
ROUNDING = 1e-6


class TrimmedKMeans(ClusterMixin, BaseEstimator):
    """K-Means that is told the number of clusters, and calls the rows that are furthest from their
    centre noise.
    """

    def __init__(self, n_clusters: int = 3, share: float = 0.1, random_state: Any = None) -> None:
        self.n_clusters = n_clusters
        self.share = share
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> TrimmedKMeans:
        """Cluster rows."""
        found = KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit(
            X, sample_weight=sample_weight
        )
        distance = found.transform(X).min(axis=1)
        self.labels_ = np.where(distance > np.quantile(distance, 1 - self.share), -1, found.labels_)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags: K-Means takes sparse rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class BrokenError(AssertionError):
    """Something that holds for every state of a model does not hold."""


@dataclass(frozen=True)
class Case:
    """What the models of a sequence are fitted with: the base method, parameters, and all rows."""

    method: Any
    parameters: dict[str, Any]
    X: Any
    weights: np.ndarray | None

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return self.weights is not None

    def new_model(self) -> CoHiRF:
        """Return a model that is not fitted."""
        return CoHiRF(clone(self.method), **self.parameters)

    def draw(self, rng: np.random.Generator, at_least: int = 1) -> np.ndarray:
        """Return numbers of rows: some rows in their order, or one after the other."""
        n_rows = int(rng.integers(at_least, max(at_least + 1, self.X.shape[0] // 3)))
        if rng.random() < 0.5:
            return np.sort(rng.permutation(self.X.shape[0])[:n_rows])
        start = int(rng.integers(self.X.shape[0] - n_rows + 1))
        return np.arange(start, start + n_rows)

    def weigh(self, rows: np.ndarray) -> dict[str, Any]:
        """Return the weights of rows as an argument; no argument without weights."""
        return {} if self.weights is None else {"sample_weight": self.weights[rows]}


@dataclass(frozen=True)
class State:
    """A model, and what is known about it from the calls so far.

    Attributes
    ----------
    model : CoHiRF
        The model.
    rows : array of int
        Which rows of the case it has, in the order of its labels.
    knows_weights : bool
        Whether the weights of groups follow from those of rows: not if rows were forgotten without
        their weights.
    moved : int or None
        How many rows from before the last step have another label, counted in the labels; None if
        it was no update.
    """

    model: CoHiRF
    rows: np.ndarray
    knows_weights: bool = True
    moved: int | None = None


@dataclass
class Tally:
    """Counts of steps, of refusals, and the sequences that are broken."""

    steps: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    broken: dict[int, str] = field(default_factory=dict)


# -- what is drawn


def draw_rows(rng: np.random.Generator) -> Any:
    """Return the rows of a case: blobs, blobs on a lattice, a few distinct rows, or a CSR
    matrix.
    """
    n_rows = int(rng.integers(40, 240))
    n_features = int(rng.integers(1, 6))
    spread = float(rng.choice([0.3, 1.0, 2.5]))
    X = make_blobs(
        n_rows, n_features, centers=4, cluster_std=spread, random_state=int(rng.integers(2**31))
    )[0]
    kind = rng.choice(["blobs", "ties", "few", "sparse", "float32"], p=[0.4, 0.2, 0.1, 0.2, 0.1])
    if kind == "ties":
        return np.round(X / 2)
    if kind == "few":
        return X[rng.integers(8, size=n_rows)]
    if kind == "sparse":
        return sparse.csr_array(np.where(np.abs(X) < 4, 0.0, X))
    return X.astype(np.float32) if kind == "float32" else X


def draw_case(rng: np.random.Generator) -> Case:
    X = draw_rows(rng)
    k = int(rng.integers(2, 5))
    methods: list[Any] = [KMeans(k, n_init=1), TrimmedKMeans(k), DBSCAN(1.0, min_samples=4)]
    if not sparse.issparse(X):
        methods += [HDBSCAN(min_cluster_size=5, copy=True), GridDBSCAN(1.0, min_samples=4)]
    method = methods[rng.integers(len(methods))]
    if isinstance(method, HDBSCAN) and rng.random() < 0.3:
        X[rng.random(X.shape) < 0.05] = np.nan
    parameters = {
        "views": int(rng.integers(1, 5)),
        "max_features": float(rng.choice([1.0, 0.7])),
        "consensus": str(rng.choice(["auto", "strict", "relaxed", "majority"])),
        "batch_size": [None, None, 30, 60][rng.integers(4)],
        "n_clusters": [None, None, k, "auto", "levels"][rng.integers(5)],
        "min_cluster_size": [1, 1, 3, 0.05][rng.integers(4)],
        "medoid_weights": bool(rng.random() < 0.8),
        "medoid": str(rng.choice(["cosine", "euclidean", "rbf"])),
        "random_state": int(rng.integers(1000)),
    }
    weights = None
    if find_weight_argument(method) is not None and rng.random() < 0.4:
        weights = rng.choice([0.0, 0.5, 1.0, 2.0], size=X.shape[0], p=[0.2, 0.2, 0.4, 0.2])
    return Case(method, parameters, X, weights)


# -- steps -----------------------------------------------------------------------------------------------------------


def fit(case: Case, state: State, rng: np.random.Generator) -> State:
    rows = case.draw(rng, 10)
    return State(copy(state.model).fit(case.X[rows], **case.weigh(rows)), rows)


def partial_fit(case: Case, state: State, rng: np.random.Generator) -> State:
    rows = case.draw(rng)
    model = copy(state.model).partial_fit(case.X[rows], **case.weigh(rows))
    moved = count_moved(state.model.labels_, model.labels_[: len(state.rows)])
    return replace(state, model=model, rows=np.append(state.rows, rows), moved=moved)


def forget(case: Case, state: State, rng: np.random.Generator) -> State:
    """Forget random rows, rows that stand for others, or updates."""
    n_rows = len(state.rows)
    summary = state.model._state.summary.value
    if summary is None:
        state.model.forget([0])
    which = rng.choice(["some", "most", "medoids", "updates"])
    arguments: dict[str, Any] = {}
    if which == "updates":
        numbers = rng.permutation(len(summary.update_rows))[:2]
        stops = np.cumsum(summary.update_rows)
        gone = np.concatenate(
            [np.arange(stops[n] - summary.update_rows[n], stops[n]) for n in np.sort(numbers)]
        )
        arguments["updates"] = numbers
    else:
        gone = summary.groups.rows if which == "medoids" else np.arange(n_rows)
        gone = rng.permutation(gone)[: max(1, int(len(gone) * (0.9 if which == "most" else 0.3)))]
        arguments["rows"] = gone
    stay = np.setdiff1d(np.arange(n_rows), gone)
    model = copy(state.model).forget(**arguments)
    knows_weights = state.knows_weights and (not case.is_weighted or summary.keeps_all)
    # without rows, no update
    moved = count_moved(state.model.labels_[stay], model.labels_) if len(gone) else None
    return State(model, state.rows[stay], knows_weights, moved)


def merge_models(case: Case, state: State, rng: np.random.Generator) -> State:
    rows = case.draw(rng, 10)
    other = case.new_model().partial_fit(case.X[rows], **case.weigh(rows))
    merged = merge([state.model, other], exemplars_only=bool(rng.random() < 0.2))
    return State(merged, np.append(state.rows, rows), state.knows_weights)


def save_and_load(case: Case, state: State, rng: np.random.Generator) -> State:
    with tempfile.TemporaryDirectory() as folder:
        state.model.save(Path(folder) / "model")
        loaded = load(Path(folder) / "model", estimator=clone(case.method))
    compare(state.model, loaded)
    if rng.random() < 0.3:
        later = partial_fit(case, state, deepcopy(rng))
        compare(
            later.model, partial_fit(case, replace(state, model=copy(loaded)), deepcopy(rng)).model
        )
    return replace(state, model=loaded, moved=None)


def fail(case: Case, state: State, rng: np.random.Generator) -> State:
    """Make a call that must fail; the model must stay as it is."""
    X = case.X[state.rows]
    model = state.model
    before = deepcopy(model)
    calls: list[Callable[[], Any]] = [
        lambda: model.fit(X, sample_weight=np.full(X.shape[0], -1.0)),
        lambda: model.partial_fit(X[:, :0]),
        lambda: model.partial_fit(X, sample_weight=np.full(X.shape[0], np.nan)),
        lambda: model.forget(np.arange(X.shape[0])),
        lambda: model.forget([-1]),
    ]
    try:
        calls[rng.integers(len(calls))]()
    except ValueError:
        compare(before, model)
        return replace(state, moved=None)
    raise BrokenError("a call that must fail did not")


STEPS = {partial_fit: 8, forget: 5, merge_models: 2, save_and_load: 3, fit: 1, fail: 1}


# -- what holds for every state


def count_moved(before: np.ndarray, after: np.ndarray) -> int:
    return int(((before >= 0) & (before != after)).sum())


def require(condition: Any, message: str) -> None:
    if not np.all(condition):
        raise BrokenError(message)


def as_dense(X: Any) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def are_close(values: np.ndarray, rows: np.ndarray) -> bool:
    """Return whether values are those of rows; missing cells may be filled."""
    return bool(np.isclose(values, rows, rtol=1e-5)[~np.isnan(rows)].all())


def unknown_rows(model: CoHiRF) -> np.ndarray:
    """Return the numbers of rows whose values in the model are stand-ins for those of forgotten
    rows.
    """
    return (
        np.arange(0)
        if model._state.summary.value is None
        else model._state.summary.value.unknown_rows
    )


def compare(one: CoHiRF, other: CoHiRF) -> None:
    """Raise unless two models have the same results."""
    for name in (
        "labels_",
        "parents_",
        "stability_",
        "feature_agreement_",
        "medoid_indices_",
        "exemplar_indices_",
    ):
        require(
            np.array_equal(getattr(one, name), getattr(other, name), equal_nan=True),
            f"{name} differs",
        )
    for name in ("medoids_", "exemplars_"):
        values = (as_dense(getattr(model, name)) for model in (one, other))
        require(np.array_equal(*values, equal_nan=True), f"{name} differs")
    require(one.hierarchy_ == other.hierarchy_, "hierarchy_ differs")
    require(
        one.changes_ == other.changes_ and one.history_ == other.history_,
        "changes_ or history_ differ",
    )
    require(np.array_equal(one.landmark_indices_, other.landmark_indices_), "landmarks differ")


def check(case: Case, state: State, rng: np.random.Generator) -> None:
    """Raise BrokenError if something does not hold."""
    check_clusters(case, state)
    check_hierarchy(state.model, rng)
    check_summary(case, state)
    check_changes(state)
    check_methods(case, state, rng)


def check_clusters(case: Case, state: State) -> None:
    model = state.model
    X = as_dense(case.X[state.rows])
    labels = model.labels_
    numbers = model.cluster_numbers_
    require(len(labels) == len(state.rows), f"{len(labels)} labels of {len(state.rows)} rows")
    require(np.diff(numbers) > 0, "numbers of clusters are not sorted")
    require(
        np.array_equal(np.unique(labels[labels >= 0]), numbers),
        "labels are not the numbers of clusters",
    )
    require(model.n_clusters_ == len(numbers), "n_clusters_ is wrong")
    asked = model.n_clusters
    require(
        not isinstance(asked, int) or len(numbers) <= asked,
        "there are more clusters than were asked for",
    )
    unknown = unknown_rows(model)
    for name in ("medoid", "exemplar"):
        rows = getattr(model, f"{name}_indices_")
        values = as_dense(getattr(model, f"{name}s_"))
        require(np.array_equal(labels[rows], numbers), f"{name}s are not in their clusters")
        known = ~np.isin(rows, unknown)
        require(are_close(values[known], X[rows[known]]), f"{name}s are not rows")
    for name, length in (("stability_", len(labels)), ("feature_agreement_", X.shape[1])):
        shares = getattr(model, name)
        require(len(shares) == length, f"{name} has a wrong length")
        require(
            np.isnan(shares) | ((shares > 0) & (shares <= 1 + ROUNDING)), f"{name} is not a share"
        )
    landmarks = model.landmark_indices_
    require(
        np.array_equal(labels[landmarks], model._state.landmarks.labels),
        "landmarks have other labels",
    )
    known = ~np.isin(landmarks, unknown)
    require(
        are_close(as_dense(model.landmarks_)[known], X[landmarks[known]]),
        "landmarks are not rows",
    )


def check_hierarchy(model: CoHiRF, rng: np.random.Generator) -> None:
    """Check that the hierarchy is one, that clusters are those of its last level, and that it can
    be cut.
    """
    hierarchy = model.hierarchy_
    labels = model.labels_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    last = hierarchy.cut(level=hierarchy.n_levels)
    pairs = np.unique(np.stack([labels, last])[:, labels >= 0], axis=1)
    require(
        len(pairs[0]) == model.n_clusters_ == len(np.unique(pairs[1])),
        "clusters are not those of the last level",
    )
    hierarchy.cut(level=int(rng.integers(hierarchy.n_levels + 1)))
    if hierarchy.tree.n_leaves:
        n_clusters = int(rng.integers(1, hierarchy.tree.n_leaves + 1))
        found = hierarchy.cut(n_clusters=n_clusters)
        require(
            len(np.unique(found[found >= 0])) == n_clusters,
            f"a cut to {n_clusters} clusters has others",
        )


def check_summary(case: Case, state: State) -> None:
    summary = state.model._state.summary.value
    if summary is None:
        return
    require(
        summary.n_rows == len(state.rows) == sum(summary.update_rows), "the summary has other rows"
    )
    require(
        summary.sizes.sum() == len(state.rows), "sizes of groups do not sum to the number of rows"
    )
    expected = len(state.rows) if case.weights is None else case.weights[state.rows].sum()
    if state.knows_weights:
        require(
            abs(summary.groups.mass.sum() - expected) <= ROUNDING * max(expected, 1),
            "masses do not sum to the weights",
        )
    require(
        summary.labels.max(initial=-1) < summary.next_number,
        "a cluster has a number that is not taken yet",
    )


def check_changes(state: State) -> None:
    """Check changes_ and the last step of history_ against the labels."""
    model, counts = state.model, Counter(state.model.labels_.tolist())
    n_noise = counts.pop(-1, 0)
    if state.moved is not None:
        require(
            model.changes_.n_moved == state.moved,
            f"n_moved is {model.changes_.n_moved}, not {state.moved}",
        )
        require(
            all(counts[number] == n for number, n in model.changes_.born.items()),
            "born has wrong sizes",
        )
    if model.history_:
        step = model.history_[-1]
        require(
            (step.n_rows, step.n_noise) == (len(state.rows), n_noise), "history_ has other rows"
        )
        require(
            all(counts[n] == size for n, size in step.sizes.items()),
            "history_ has other sizes of clusters",
        )
        require(
            len(step.sizes) == min(len(counts), HISTORY.clusters), "history_ has other clusters"
        )


def check_methods(case: Case, state: State, rng: np.random.Generator) -> None:
    model = state.model
    X = case.X[state.rows]
    labels = model.predict(X)
    require(np.isin(labels, np.append(model.cluster_numbers_, -1)), "predict returns other numbers")
    if len(model.landmark_indices_) == len(state.rows) and not len(unknown_rows(model)):
        # missing cells are filled, which can make rows equal
        points = as_dense(model.landmarks_)
        _, inverse, copies = np.unique(points, axis=0, return_inverse=True, return_counts=True)
        alone = copies[inverse.ravel()] == 1
        require(
            labels[alone] == model.labels_[alone], "predict of the rows of the fit is not labels_"
        )
        require(len(model.outlier_scores_) == len(state.rows), "outlier_scores_ has a wrong length")
    require(
        model.transform(X).shape == (len(state.rows), len(model.get_feature_names_out())),
        "transform has other columns",
    )
    require(np.isfinite(model.score_outliers(X)), "score_outliers is not finite")
    degrees = as_dense(model.membership(X))
    if model.n_clusters_:
        require(abs(degrees.sum(axis=1) - 1) < ROUNDING, "degrees of membership do not sum to 1")
        clustered = labels >= 0
        own = np.searchsorted(model.cluster_numbers_, labels[clustered])
        most = degrees[clustered].max(axis=1)
        require(
            degrees[clustered, own] >= most - ROUNDING,
            "the cluster of predict has not the largest degree",
        )
        model.explain(int(rng.choice(model.cluster_numbers_)), X)


# -- sequences


def run_sequence(number: int, tally: Tally) -> None:
    """Run one sequence; note what is broken."""
    rng = np.random.default_rng([31, number])
    last = "the first step"
    try:
        with ExitStack() as stack:
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)
            if rng.random() < 0.5:
                stack.enter_context(patch.object(blocks, "GROUP", replace(blocks.GROUP, most=40)))
            case = draw_case(rng)
            state = begin(case, rng, tally)
            for _ in range(int(rng.integers(2, 9)) if state is not None else 0):
                steps = list(STEPS)
                shares = np.array([STEPS[each] for each in steps], dtype=float)
                step = steps[rng.choice(len(steps), p=shares / shares.sum())]
                last = step.__name__
                state = take_step(step, case, state, rng, tally)
            if state is not None and rng.random() < 0.1 and state.model.n_clusters_:
                last = "report"
                tally.steps[last] += 1
                with tempfile.TemporaryDirectory() as folder:
                    write_report(state.model, case.X[state.rows], Path(folder) / "report.html")
    except Exception as error:  # whatever it is, the sequence is broken
        where = traceback.extract_tb(error.__traceback__)[-1]
        what = f"{type(error).__name__}: {error}"[:150]
        tally.broken[number] = f"{last}: {what} ({Path(where.filename).name}:{where.lineno})"


def begin(case: Case, rng: np.random.Generator, tally: Tally) -> State | None:
    """Return the first state; None if the data is refused."""
    rows = case.draw(rng, 10)
    model = case.new_model()
    call = model.fit if rng.random() < 0.5 else model.partial_fit
    tally.steps[call.__name__] += 1
    try:
        call(case.X[rows], **case.weigh(rows))
    except ValueError as error:
        note_refusal(error, tally)
        return None
    state = State(model, rows)
    check(case, state, rng)
    return state


def take_step(step: Any, case: Case, state: State, rng: np.random.Generator, tally: Tally) -> State:
    """Return the state after a step, which is checked.

    The state before it if the step is refused.
    """
    tally.steps[step.__name__] += 1
    try:
        state = step(case, state, rng)
    except ValueError as error:
        note_refusal(error, tally)
    check(case, state, rng)
    return state


def note_refusal(error: ValueError, tally: Tally) -> None:
    """Count a refusal; raise any other error again."""
    known = [part for part in REFUSALS if part in str(error)]
    if not known:
        raise error
    tally.refused[known[0]] += 1


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sequences", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parse(parser, argv, sequences=50)
    tally = Tally()
    started = time.perf_counter()
    for number in range(arguments.first, arguments.first + arguments.sequences):
        run_sequence(number, tally)
        if number in tally.broken:
            print(f"sequence {number} is broken: {tally.broken[number]}", flush=True)
    for name, count in sorted(tally.steps.items()):
        print(f"{name:<60} {count:>6,}")
    for name, count in sorted(tally.refused.items()):
        print(f"{f'refused: {name}':<60} {count:>6,}")
    print(
        f"{len(tally.broken)} of {arguments.sequences:,} sequences broken, "
        f"{sum(tally.steps.values()):,} steps, {time.perf_counter() - started:.0f} s"
    )


if __name__ == "__main__":
    main()
