"""The paper's tables on real data, searched as the authors' published program searches them.

What that program does and the paper does not say: the sampler is multivariate, the first trial has
default parameters, CoHiRF has 2 to 5 clusters in each view, and 1 to 10 views of DBSCAN; medoids of
kernel K-Means are chosen by an RBF kernel; shares of features are rounded down; more clusters than
half of the rows are not scored; silhouettes are those of all rows; rows are shuffled, by the seed
of the search. The sampler is that of the Optuna of its time: see ``experiments.sampler``.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
from joblib import Parallel, delayed
from optuna.distributions import IntDistribution
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

from cohirf.clusterers import GridDBSCAN
from experiments.budgets import BUDGETS, Budget
from experiments.cells import Cell, data_for, memory_limit
from experiments.circumstances import describe_run
from experiments.figures import with_spread
from experiments.fusion import Fusion, compile_fusion, fused_by
from experiments.keeping import look_up, store
from experiments.methods import (
    ALONE,
    KERNEL_K_MEANS,
    VARIANTS,
    first_trial,
    make_model,
    search_space,
    with_floored_views,
)
from experiments.paper import METRICS, N_ROWS, RESULTS, Row, published
from experiments.published_draws import DrawnAsPublished, SubspacesAsPublished
from experiments.real_tables import TABLES
from experiments.reasons import reason_for
from experiments.sampler import authors_sampler
from experiments.tables import HEADINGS, MOST_CLUSTERS, TIE, compare, mark

SAMPLED_ROWS = 1000
# in the paper, of one cluster, and if no trial has a score
UNSCORED = {
    "ari": 0.0,
    "calinski_harabasz": 0.0,
    "silhouette": -1.0,
}
GRAPH = "published"
# searches of a figure that is not within, to see how far five of them vary
MORE_SEEDS = 25
FEW_ROWS = 10_000  # of which scikit-learn's DBSCAN lists all neighbours
SAMPLED = "Best of sixty samples of 1,000 rows; the paper's is of all rows."
VERDICTS = ("within", "better", "worse", "not comparable")
# of all; a row with a search that was cut before is shown as it was earlier, and so is one of which
# some searches scored nothing
FEWEST_TRIALS = 0.5
SIZES = ("iris", "alizadeh-2000-v2", "garber-2001", "coil-20", "shuttle")
COSTS = ("K-Means", "DBSCAN", "SC-SRGF", KERNEL_K_MEANS)


class Protocol(IntEnum):
    """What results of searches as the authors' are kept under; lower numbers are earlier searches.

    Attributes
    ----------
    SAMPLED : int
        With the sampler of Optuna 5, and silhouettes of 1,000 random rows of larger data.
    ALL_ROWS : int
        With that sampler, and silhouettes of all rows.
    AUTHORS : int
        With the sampler of the authors' Optuna, and silhouettes of all rows.
    SHUFFLED : int
        Also with rows in the order that the authors' program shuffles them into, the seeds of its
        kernel K-Means, and its score for one cluster.
    DRAWN : int
        Also with the random draws and the medoids of that program, not those of
        ``CoHiRF.as_published``: these figures are shown beside the others.
    """

    SAMPLED = 4
    ALL_ROWS = 5
    AUTHORS = 6
    SHUFFLED = 7
    DRAWN = 8


def run(
    budget: str,
    folder: Path,
    say: Callable[[str], None],
    *,
    only_kept: bool,
    n_jobs: int,
    metrics: list[str] | None,
    data: list[str] | None = None,
    bases: list[str] | None = None,
    variants: list[str] | None = None,
    n_seeds: int | None = None,
    drawn: bool = False,
    gpu: bool = False,
) -> None:
    """Search rows of the paper's tables, and write all that was found beside the paper's.

    Rows are those of some data sets, base methods, variants and metrics, by default of all. If
    ``drawn``, search them with the random draws of the authors' program, too. With ``gpu``, graphs
    are fused and silhouettes computed on a GPU.
    """
    effort = BUDGETS[budget]
    cells = [
        cell
        for cell in cells_of(replace(effort, n_seeds=n_seeds or effort.n_seeds), metrics or METRICS)
        if cell.data in (data or SIZES)
        and cell.base in (bases or COSTS)
        and cell.variant in (variants or VARIANTS)
    ]
    if drawn:
        protocol = int(Protocol.DRAWN)
        cells = [replace(cell, protocol=protocol) for cell in cells if can_be_drawn(cell)]
    if not only_kept:
        library = compile_fusion(folder) if gpu else None
        calls = (delayed(search)(cell, folder / "cells", library) for cell in cells)
        for cell, found in zip(
            cells, Parallel(n_jobs=n_jobs, return_as="generator")(calls), strict=True
        ):
            say(
                f"{cell.data}, {cell.base}, {cell.variant}, {cell.metric}, seed {cell.seed}: "
                f"{found['score']:.3f}"
            )
    write_tables(found_rows(BUDGETS[budget], folder / "cells"), folder, budget)


def can_be_drawn(cell: Cell) -> bool:
    """Tell whether a row can have the draws of the authors' program: others alone have them."""
    return cell.base == "SC-SRGF" or cell.variant != ALONE


def found_rows(budget: Budget, folder: Path) -> pd.DataFrame:
    """Return what was found for each row of the paper: by these searches or, if they were not done,
    earlier.
    """
    rows = {}
    for cell in chain.from_iterable(table.cells(budget) for table in TABLES.values()):
        rows.setdefault(row_of(cell), []).append(look_up(folder, cell.about()))
    for key, cells in groupby(sorted(cells_of(budget, METRICS), key=row_of), key=row_of):
        asked = list(cells)
        searches = [
            find(folder, [replace(cell, protocol=int(protocol)) for cell in asked])
            for protocol in sorted(Protocol, reverse=True)
            if protocol != Protocol.DRAWN
        ]
        # of equally many searches, those that are most like the authors'
        results = max(searches, key=count_done)
        done = [found for found in results if is_done(found)]
        if done:
            # one of which no trial has a score is a search, too
            rows[key] = [found | {"n_searches": len(done)} for found in with_scores(done)]
        elif results and is_ahead(results, rows.get(key, [])):
            rows[key] = results
        drawn = find(folder, [replace(cell, protocol=int(Protocol.DRAWN)) for cell in asked])
        if len(drawn) == len(asked) and all(map(is_whole, drawn)):
            rows[key] = [*rows.get(key, []), *with_scores(drawn)]
        others = [replace(asked[0], seed=seed) for seed in range(budget.n_seeds, MORE_SEEDS)]
        more = find(folder, others)
        if len(more) == len(others) and all(map(is_whole, more)):
            rows[key] = [*rows.get(key, []), *with_scores(more)]
    wanted = [
        found for key, results in rows.items() if key[:3] in RESULTS for found in results if found
    ]
    if not wanted:
        raise SystemExit(f"{folder} has no results: leave --write out.")
    return pd.DataFrame(wanted)


def find(folder: Path, cells: list[Cell]) -> list[dict[str, Any]]:
    """Return the results that there are of some cells."""
    return [found for cell in cells if (found := look_up(folder, cell.about()))]


def count_done(results: list[dict[str, Any]]) -> tuple[int, int]:
    """Return how many searches are done, and how many trials they have."""
    return sum(map(is_done, results)), sum(found["n_done"] for found in results)


def is_whole(found: dict[str, Any]) -> bool:
    """Tell whether a search had all of its trials."""
    return bool(found["n_done"] == found["n_trials"])


def is_done(found: dict[str, Any]) -> bool:
    """Tell whether a search had half of its trials or more."""
    return bool(found["n_done"] >= FEWEST_TRIALS * found["n_trials"])


def with_scores(results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the searches of which some trial has a score, or all of them if none has, since the
    paper has figures then, too.
    """
    return [found for found in results if found.get("is_scored", True)] or results


def is_ahead(results: list[dict[str, Any]], earlier: list[dict[str, Any] | None]) -> bool:
    """Tell whether searches that were cut are ahead of all earlier ones: with more trials, the best
    is not lower.
    """
    before = [found["score"] for found in earlier if found]
    return bool(before) and min(found["score"] for found in results) > max(before)


def row_of(cell: Cell) -> tuple[str, ...]:
    """Return the row of the paper, and the metric."""
    return cell.data, cell.base, cell.variant, cell.metric


def cells_of(budget: Budget, metrics: list[str] | tuple[str, ...]) -> Iterator[Cell]:
    """Yield what is to be searched: rows of each metric, from the cheapest to the dearest."""
    rows = [row for row in RESULTS if row[0] in SIZES]
    rows.sort(key=lambda row: (SIZES.index(row[0]), COSTS.index(row[1])))
    for metric in metrics:
        for data, base, variant in rows:
            for seed in range(budget.n_seeds):
                yield Cell(
                    data,
                    base,
                    variant,
                    metric,
                    seed,
                    budget.n_trials,
                    budget.max_rows,
                    int(Protocol.SHUFFLED),
                )


def model_and_space(base: str, variant: str, n_rows: int) -> tuple[Any, dict[str, Any]]:
    """Return a model of the authors' program, and the ranges that it searches."""
    model = clone(make_model(base, variant, n_rows))
    space = search_space(model, variant)
    if base == "SC-SRGF":
        model.set_params(**{"graph" if variant == ALONE else "estimator__graph": GRAPH})
    if variant == ALONE:
        if base == KERNEL_K_MEANS:
            model = AuthorsKernelKMeans(n_components=model.n_components)
        return model, space
    if base == "DBSCAN":
        return model, space | {"views": IntDistribution(1, 10)}
    if base == KERNEL_K_MEANS:
        model.set_params(medoid=rbf_kernel)
    return model, space | {"estimator__n_clusters": IntDistribution(2, 5)}


def draw_as_published(
    cell: Cell, space: dict[str, Any], first: dict[str, Any], n_rows: int
) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return a model that draws as the authors' program does, its ranges and first parameters."""
    is_kernel = cell.base == KERNEL_K_MEANS
    # scikit-learn's takes a minute and 27 GB on Shuttle; both find the same clusters
    dbscan = DBSCAN() if n_rows <= FEW_ROWS else GridDBSCAN()
    methods = {"DBSCAN": dbscan, "SC-SRGF": SubspacesAsPublished()}
    model: Any = methods.get(cell.base, KMeans())
    if cell.variant != ALONE:
        variant = VARIANTS[cell.variant]
        options = variant.options
        model = DrawnAsPublished(
            model,
            features=RBFSampler(n_components=500) if is_kernel else None,
            views=options.get("views", 1),
            max_features=1.0,
            threshold=options.get("consensus"),
            batch_size=variant.n_batches and n_rows // variant.n_batches,
        )

    def renamed(values: dict[str, Any]) -> dict[str, Any]:
        return {
            name.replace("estimator__gamma", "features__gamma"): values[name] for name in values
        }

    return model, renamed(space), renamed(first)


def names_as_authors(base: str, space: dict[str, Any]) -> dict[str, str]:
    """Return our names of the parameters that are searched, by the authors' names.

    The order of both is that of the authors: a sampler draws parameters in the order in which they
    are given and, later, in that of their names.
    """
    clusters = "sc_n_clusters" if base == "SC-SRGF" else "n_clusters"
    theirs = {
        "n_features": "max_features",
        "repetitions": "views",
        "base_model_kwargs/n_similarities": "n_affinities",
        "base_model_kwargs/sampling_ratio": "sampling_ratio",
        f"base_model_kwargs/{clusters}": "n_clusters",
        "base_model_kwargs/eps": "eps",
        "base_model_kwargs/min_samples": "min_samples",
        "transform_kwargs/gamma": "gamma",
    }
    return {
        name: ours
        for name, short in theirs.items()
        for ours in (short, f"estimator__{short}", f"features__{short}")
        if ours in space
    }


class AuthorsKernelKMeans(ClusterMixin, BaseEstimator):
    """K-Means of random Fourier features of all rows, with one seed for both."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: float = 1.0,
        n_components: int = 500,
        random_state: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> AuthorsKernelKMeans:
        """Cluster the rows of ``X``."""
        seed = self.random_state
        features = RBFSampler(gamma=self.gamma, n_components=self.n_components, random_state=seed)
        method = KMeans(self.n_clusters, random_state=seed)
        self.labels_ = method.fit(features.fit_transform(X)).labels_
        return self


def shuffle_rows(X: Any, y: Any, seed: int) -> tuple[Any, Any]:
    """Return rows in the order that ``DataFrame.sample(frac=1, random_state=seed)`` has."""
    order = pd.RangeIndex(len(X)).to_series().sample(frac=1, random_state=seed).to_numpy()
    return X[order], y[order]


def search(cell: Cell, folder: Path, library: Path | None = None) -> dict[str, Any]:
    """Return the best of all trials.

    Each trial is kept, so that a search that was cut goes on where it was. With ``library``, the
    program of ``experiments.fusion``, graphs are fused and silhouettes computed by it.
    """
    found = look_up(folder, cell.about()) or {}
    known = found.get("trials", [])
    if found and not known:
        return found
    X, y = shuffle_rows(*data_for(cell.base, cell.data, cell.max_rows), cell.seed)
    model, space = model_and_space(cell.base, cell.variant, len(X))
    first = first_trial(cell.base, space)
    if cell.protocol == Protocol.DRAWN:
        model, space, first = draw_as_published(cell, space, first, len(X))
    fusion = None if library is None else Fusion(library)
    if fusion is not None:
        model = fused_by(fusion, model)
    silhouette = silhouette_score if fusion is None else fusion.silhouette
    seeds = np.random.default_rng(cell.seed)
    # a GPU's driver reserves more addresses than there is memory
    limit = memory_limit() if library is None else nullcontext()
    with warnings.catch_warnings(), threadpool_limits(1), limit:
        warnings.simplefilter("ignore")  # of bad parameters
        names = names_as_authors(cell.base, space)
        study = start_search({name: first[ours] for name, ours in names.items()}, cell.seed)
        trials: list[dict[str, Any]] = []
        while len(trials) < cell.n_trials:
            asked = study.ask({name: space[ours] for name, ours in names.items()})
            params = {ours: asked.params[name] for name, ours in names.items()}
            seed = int(seeds.integers(2**31 - 1))
            before = known[len(trials)] if len(trials) < len(known) else None
            if before is None or before["params"] != params:
                known = []  # another version of Optuna goes another way
                before = try_parameters(model, params, seed, X, y, cell.metric, silhouette)
            trials.append(before)
            study.tell(asked, -np.inf if before["score"] is None else before["score"])
            if not known[len(trials) :]:
                found = store(folder, cell.about(), summary_of(trials, cell))
    return found


def start_search(first: dict[str, Any], seed: int) -> optuna.Study:
    """Return a search that begins with the given parameters."""
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction="maximize", sampler=authors_sampler(seed))
    study.enqueue_trial(first)
    return study


def try_parameters(
    model: Any,
    params: dict[str, Any],
    seed: int,
    X: Any,
    y: Any,
    metric: str,
    silhouette: Callable[[Any, Any], float] = silhouette_score,
) -> dict[str, Any]:
    """Fit a model once, and return its score, None if it has none."""
    model = with_floored_views(clone(model).set_params(**params), X.shape[1])
    if "random_state" in model.get_params(deep=False):
        model.set_params(random_state=seed)
    started = time.process_time()
    try:
        labels = model.fit(X).labels_
        score = score_labels(X, labels, y, metric, silhouette)
    except (ValueError, MemoryError):  # too few rows for the method, or one cluster
        labels = np.zeros(1)
        score = None
    seconds = time.process_time() - started
    return {
        "params": params,
        "random_state": seed,
        "score": score,
        "n_clusters": len(np.unique(labels)),
        "seconds": seconds,
    }


def score_labels(
    X: Any,
    labels: Any,
    y: Any,
    metric: str,
    silhouette: Callable[[Any, Any], float] = silhouette_score,
) -> float | None:
    """Return a score as the authors compute it, None for too many clusters."""
    n_clusters = len(np.unique(labels))
    if n_clusters > MOST_CLUSTERS * len(labels):
        return None
    if metric == "ari":
        return float(adjusted_rand_score(y, labels))
    if n_clusters == 1:
        return UNSCORED[metric]
    if metric == "calinski_harabasz":
        return float(calinski_harabasz_score(X, labels))
    return float(silhouette(X, labels))


def summary_of(trials: list[dict[str, Any]], cell: Cell) -> dict[str, Any]:
    """Return the best trial, how many there were, and all of them while there are more to come."""
    best = max(trials, key=lambda trial: -np.inf if trial["score"] is None else trial["score"])
    is_scored = best["score"] is not None
    score = best["score"] if is_scored else UNSCORED[cell.metric]
    more = {} if len(trials) == cell.n_trials else {"trials": trials}
    cpu = sum(trial["seconds"] for trial in trials)
    return (
        best
        | {"score": score, "is_scored": is_scored, "n_done": len(trials), "search_seconds": cpu}
        | more
    )


@dataclass(frozen=True)
class Line:
    """A figure of the paper beside ours."""

    row: Row
    metric: str
    paper: str
    ours: str
    verdict: str  # within, better, worse or not comparable; empty if it was not run
    found: pd.DataFrame  # the searches
    # ours with the order of rows, draws and medoids of the authors' program, and its verdict, if
    # it was searched so
    drawn: str = ""
    drawn_verdict: str = ""
    many: str = ""  # what many searches have, and how often five of them are as far as the paper

    @property
    def is_whole(self) -> bool:
        """Whether searches are like the authors', with all trials and five seeds or more."""
        found = self.found
        is_whole = (found.protocol >= Protocol.SAMPLED) & (found.n_done == found.n_trials)
        n_searches = found.get("n_searches", pd.Series(len(found))).max()
        return bool(is_whole.all()) and n_searches >= BUDGETS["full"].n_seeds

    @property
    def is_authors(self) -> bool:
        """Whether such searches also have the sampler of the authors' Optuna."""
        return self.is_whole and bool((self.found.protocol >= Protocol.AUTHORS).all())

    @property
    def is_shuffled(self) -> bool:
        """Whether such searches also have the authors' order of rows."""
        return self.is_whole and bool((self.found.protocol >= Protocol.SHUFFLED).all())

    @property
    def is_equal(self) -> bool:
        """Whether mean and spread are the paper's to the last digit."""
        return self.paper == self.ours


def lines_of(frame: pd.DataFrame) -> list[Line]:
    """Return all figures of the paper beside what was found."""
    return [line_of(row, metric, frame) for metric in METRICS for row in RESULTS if row[0] in SIZES]


def line_of(row: Row, metric: str, frame: pd.DataFrame) -> Line:
    """Return one figure of the paper beside what was found for it."""
    figure = published(*row, metric)
    assert figure is not None
    is_row = (frame.data == row[0]) & (frame.base == row[1]) & (frame.variant == row[2])
    is_figure = is_row & (frame.metric == metric)
    is_drawn = frame.protocol == Protocol.DRAWN
    is_more = frame.seed >= BUDGETS["full"].n_seeds
    drawn = frame[is_figure & is_drawn]
    found = frame[is_figure & ~is_drawn & ~is_more]
    ours, verdict = compare(found, figure)
    # the ARI does not grow with the number of clusters, and the authors score only few
    is_authors = (found.protocol >= Protocol.SAMPLED).all()
    if verdict == "not comparable" and (metric == "ari" or is_authors):
        verdict = mark(found.score.mean(), figure)
    many = ""
    if (is_figure & is_more).any():
        many = say_many(frame[is_figure & ~is_drawn].score.to_numpy(), figure[0])
    paper = with_spread(*figure)
    return Line(row, metric, paper, ours, verdict, found, *compare(drawn, figure), many)


def say_many(scores: Any, theirs: float) -> str:
    """Return in words what many searches have, and how often five are as far as the paper's mean.

    Five searches are drawn with replacement.
    """
    five = np.random.default_rng(0).choice(scores, (10_000, 5)).mean(axis=1)
    is_above = theirs > scores.mean()
    share = np.mean(five >= theirs - TIE if is_above else five <= theirs + TIE)
    spread = with_spread(scores.mean(), scores.std(ddof=1))
    side = "or more" if is_above else "or less"
    return (
        f"{len(scores)} searches have {spread}; five of them have the paper's mean {side} "
        f"in {share:.1%} of draws."
    )


def write_tables(frame: pd.DataFrame, folder: Path, budget: str) -> None:
    """Write the best trials as Parquet, and tables: of all figures of the paper, of those that are
    not within, and for each metric of all rows.
    """
    n_done = frame.get("n_done", frame.n_trials).fillna(frame.n_trials)
    frame = frame.assign(n_done=n_done, params=frame.params.map(str))
    frame.drop(columns="trials", errors="ignore").to_parquet(
        folder / "authors.parquet", index=False
    )
    lines = lines_of(frame)
    text = ["# The paper's rows, searched as the authors' program does", ""]
    text += [*describe_run(f"python -m experiments authors --budget {budget}"), ""]
    text += ["## All figures", "", *summary_lines(lines), "", count_draws(lines), ""]
    text += ["## What is not within", "", *reason_lines(lines), ""]
    text += [
        "*Unshuffled* searches have rows in the order of the file, a *newer sampler* is that of Optuna "
        "5, and *earlier* searches follow the text of the paper, not the authors' program.",
        "",
    ]
    for metric in METRICS:
        of_metric = [line for line in lines if line.metric == metric]
        text += [f"## {HEADINGS[metric]}", "", *metric_lines(of_metric), ""]
    (folder / "authors.md").write_text("\n".join(text))


def summary_lines(lines: list[Line]) -> list[str]:
    """Return a table that counts how the figures of each metric compare with the paper's."""
    verdicts = counted_verdicts(lines)
    table = [
        f"| metric | figures | {' | '.join(verdicts)} | to the last digit | "
        "60 trials, five seeds | and their sampler | and their order of rows |",
        "| --- " * (len(verdicts) + 6) + "|",
    ]
    groups = [
        (HEADINGS[metric], [line for line in lines if line.metric == metric]) for metric in METRICS
    ]
    for name, group in [*groups, ("all", lines)]:
        counts = [sum(line.verdict == verdict for line in group) for verdict in verdicts]
        whole = [
            sum(getattr(line, name) for line in group)
            for name in ("is_equal", "is_whole", "is_authors", "is_shuffled")
        ]
        cells = [len(group), *counts, *whole]
        table.append(f"| {name} | {' | '.join(map(str, cells))} |")
    return table


def counted_verdicts(lines: list[Line]) -> list[str]:
    """Return the verdicts to count: *not comparable*, as only earlier searches are, if there are
    such lines.
    """
    found = {line.verdict for line in lines}
    return [name for name in VERDICTS if name != "not comparable" or name in found]


def reason_lines(lines: list[Line]) -> list[str]:
    """Return a table of the figures that are not within, with what is known of the reason."""
    table = [
        "| figure | paper | ours | | ours, with their order, draws, medoids | reason |",
        "| --- " * 6 + "|",
    ]
    for verdict in VERDICTS[1:][::-1]:
        for line in lines:
            if line.verdict == verdict:
                name = f"{', '.join(line.row)}: {HEADINGS[line.metric]}"
                why = reason_for(line.row, line.metric)
                if not line.is_whole:
                    why = f"{why} {say_effort(line)}".strip()
                elif is_sampled(line.found):
                    why = f"{why} {SAMPLED}".strip()
                why = f"{say_draws(line)} {why} {line.many}".strip()
                why = why or say_open(line)
                cells = [name, line.paper, line.ours, verdict, line.drawn, why]
                table.append(f"| {' | '.join(cells)} |")
    return table


def say_open(line: Line) -> str:
    """Return in words what was not tried of a figure that has no reason."""
    if line.is_shuffled:
        return "Open."
    return "Open; not searched with the authors' order."


def say_draws(line: Line) -> str:
    """Return in words what order of rows, random draws and medoids explain together."""
    if not line.drawn:
        return ""
    changed = "With the authors' order, draws and medoids"
    if line.is_shuffled:
        changed = "*Ours* has the authors' order; with their draws and medoids too"
    if line.drawn == line.paper:
        return f"{changed} it is the paper's."
    return f"{changed} it is {line.drawn_verdict}."


def count_draws(lines: list[Line]) -> str:
    """Return in words how many worse figures order, random draws and medoids explain."""
    worse = [line for line in lines if line.verdict == "worse"]
    explained = [line for line in worse if line.drawn_verdict == "within"]
    equal = sum(line.drawn == line.paper for line in explained)
    n_shuffled = sum(line.is_shuffled for line in explained)
    who = f"{n_shuffled} of them"
    if n_shuffled == len(explained):
        who = f"All {n_shuffled}"
    return (
        f"With the order of rows, the random draws and the medoids of the authors' program, "
        f"{len(explained)} of the {len(worse)} worse figures are within, {equal} of them to the "
        f"last digit. {who} miss with the order of rows alone; draws and medoids were not tested apart."
    )


def say_effort(line: Line) -> str:
    """Return in words what a search lacks of sixty trials and five seeds of the authors'."""
    n_seeds, trials, search = say_search(line.found)
    names = {
        "earlier": "An earlier search",
        "unshuffled": "A search of unshuffled rows",
        "authors'": "The authors' search",
    }
    name = names.get(search, "A search with the newer sampler")
    return f"{name}: {trials} trials, {n_seeds} seeds."


def metric_lines(lines: list[Line]) -> list[str]:
    """Return a table with a line for each row of the paper, and how many are within, better and
    worse.
    """
    table = [
        "| data | base | variant | paper | ours | | seeds | trials | search | "
        "ours, with their order, draws, medoids |",
        "| --- " * 10 + "|",
    ]
    for line in lines:
        cells = [*line.row, line.paper, line.ours, line.verdict, *say_search(line.found)]
        cells.append(line.drawn)
        table.append(f"| {' | '.join(cells)} |")
    verdicts = counted_verdicts(lines)
    counts = [f"{sum(line.verdict == verdict for line in lines)} {verdict}" for verdict in verdicts]
    return [*table, "", f"{len(lines)} rows: {', '.join(counts)}."]


def say_search(found: pd.DataFrame) -> list[str]:
    """Return the numbers of seeds and trials, and which search it was."""
    if found.empty:
        return ["", "", "not run"]
    fewest = int(found.n_done.min())
    most = int(found.n_done.max())
    trials = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    protocol = found.protocol.min()
    if protocol < Protocol.SAMPLED:
        search = "earlier"
    elif protocol < Protocol.AUTHORS:
        search = f"newer sampler, {SAMPLED_ROWS} rows" if is_sampled(found) else "newer sampler"
    else:
        search = "unshuffled" if protocol < Protocol.SHUFFLED else "authors'"
    return [f"{len(found)}", trials, search]


def is_sampled(found: pd.DataFrame) -> bool:
    """Tell whether silhouettes are those of random rows, by default in the authors' program."""
    is_large = found.data.map(N_ROWS) > SAMPLED_ROWS
    is_silhouette = found.metric == "silhouette"
    return bool((is_large & is_silhouette & (found.protocol == Protocol.SAMPLED)).any())
