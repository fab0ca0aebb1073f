"""The search loop: Optuna proposes parameters.

They are fitted and scored, and Optuna is told the score.
"""

from __future__ import annotations

import math
import os
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import optuna
import pandas
import sqlalchemy
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone

from cohirf.estimator import CoHiRF
from cohirf.fit_identity import describe
from cohirf.progress import Advance, Work, say, showing
from experiments.tuning.search_space import (
    INNER,
    NUMBER_NAMES,
    Metric,
    SearchSpace,
    find_metric,
    first_trials,
    recommended_space,
)

NAME = "cohirf"  # of the study in a file, and of its attribute that describes the search
ERROR = "error"  # attribute of a trial: why it failed
SEEDS = "seeds"  # attribute of a trial: the seeds of its fits
OF_VIEWS = ("max_features", "views")  # their ranges end where nothing is gained beyond
EDGE_SHARE = 0.01  # share of a range of numbers that counts as its edge
# do not affect scores; each fit gets its seed
WITHOUT_EFFECT = {
    "checkpoint",
    "n_jobs",
    "random_state",
    "verbose",
}

Seeds = Sequence[int]
TrialOutcome = tuple[float, str]  # score of a trial, and its error message, empty unless it failed


@dataclass(frozen=True)
class Tuned:
    """The result of a search.

    Attributes
    ----------
    best_estimator : estimator
        A clone of the estimator, fitted with the best parameters and the first seed of their trial.
    best_params : dict
        The best parameters.
    best_score : float
        The score of the best parameters: the mean over seeds.
    study : optuna.Study
        All trials, for Optuna's plots and analyses.
    table : pandas.DataFrame
        All finished trials, the best first.

    See Also
    --------
    tune : Runs a search.
    """

    best_estimator: Any
    best_params: dict[str, Any]
    best_score: float
    study: Any

    @property
    def table(self) -> Any:
        """All finished trials as a pandas data frame, the best first.

        The columns are ``trial``, ``score``, one for each parameter, ``seconds``, and ``error``,
        which is empty unless the trial failed.
        """
        rows = [
            {
                "trial": trial.number,
                "score": trial.value,
                **trial.params,
                "seconds": trial.duration.total_seconds(),
                "error": trial.user_attrs.get(ERROR, ""),
            }
            for trial in _finished(self.study)
        ]
        return pandas.DataFrame(rows).sort_values(
            "score", ascending=False, kind="stable", ignore_index=True
        )


def tune(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    metric: str | Callable[..., float] = "silhouette",
    n_trials: int = 60,
    search_space: SearchSpace | None = None,
    first: Sequence[dict[str, Any]] | None = None,
    seeds: Seeds | None = (0,),
    storage: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    timeout: float | None = None,
    random_state: int = 0,
    verbose: int = 0,
) -> Tuned:
    """Search for the parameters with the best score.

    The first trial has the parameters of the estimator, with the number of clusters that
    ``CoHiRF(n_clusters="auto")`` chooses, or the radius that :func:`cohirf.suggest_eps` suggests.
    Then Optuna's TPE sampler proposes parameters. Each trial fits the estimator once per seed.
    Parameters that were already tried with the same seeds are not fitted again. A failed trial gets
    the worst score and records its error; if all trials fail, an error is raised. A warning tells
    if the best value of a parameter is at the edge of its range.

    Parameters
    ----------
    estimator : estimator
        A clustering method, or a :class:`~cohirf.CoHiRF` with a base method. It is cloned, not
        changed.
    X : array, CSR matrix or data frame, shape (n_samples, n_features)
        The data.
    y : array, shape (n_samples,), default=None
        True classes. Needed for the metric "ari", and passed to a callable metric. They are not
        used in fits.
    metric : {"silhouette", "calinski_harabasz", "ari"} or callable, default="silhouette"
        Score to maximise. Noise counts as one cluster. If there are more than 10,000 rows, the
        silhouette is computed on a sample of 10,000 rows, the same one in each trial. A callable is
        called with data and labels, and also with classes if ``y`` is given; higher values must be
        better. Labels with a single cluster, or with singletons only, get the worst score, except
        for "ari", which is defined for them.
    n_trials : int, default=60
        Number of trials, including those already in ``storage``.
    search_space : dict of str to optuna distribution, default=None
        Range of each parameter that is searched. By default, that of :func:`recommended_space`.
    first : sequence of dict, default=None
        Parameters of the first trials. By default those of :func:`first_trials` if ``search_space``
        is None, and none otherwise.
    seeds : sequence of int or None, default=(0,)
        Values of ``random_state`` for the fits of each trial, whose score is the mean over them. If
        None, each trial has one seed of its own; the best score then also benefits from the
        luckiest seed.
    storage : str or path, default=None
        File of SQLite in which trials are stored, so that the same call can resume a search. By
        default, trials are kept in memory.
    n_jobs : int, default=None
        Number of trials that run in parallel, as in joblib. Trials that run in parallel are
        proposed independently of each other, so results depend on this number.
    timeout : float, default=None
        Seconds after which no further trial starts.
    random_state : int, default=0
        Seed of the proposals, and of the trials if ``seeds`` is None.
    verbose : int, default=0
        If not 0, show progress with the best score so far, a line for each trial that is better
        than all before, and a message if the silhouette is computed on a sample of rows.

    Returns
    -------
    tuned : Tuned
        The best estimator, fitted; its parameters and score; the study; and a table of all trials.

    Raises
    ------
    ValueError
        If a parameter is not valid, all trials fail, or ``storage`` has a search with other data,
        parameters, search space, metric or seeds.
    ImportError
        If optuna is not installed.

    See Also
    --------
    recommended_space : The default search space.
    paper_space : That of the paper.

    Examples
    --------
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from experiments.tuning import tune
    >>> X, _ = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=0)
    >>> tune(KMeans(), X, metric="silhouette", n_trials=30).best_params
    {'n_clusters': 4}
    """
    if isinstance(estimator, CoHiRF) and estimator.n_clusters == "levels":
        # replaces None by the default
        estimator = clone(estimator).set_params(estimator=estimator._base_method())
    values = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if search_space is None:
        space = recommended_space(estimator, values)
    else:
        space = dict(search_space)
    _check_search(estimator, X, space, n_trials, seeds)
    if first is None:
        if search_space is None:
            first = first_trials(estimator, values, space, random_state)
        else:
            first = ()
    measure = find_metric(metric, values, y)
    about = _describe_search(estimator, values, y, metric, space, seeds)
    study = _open_study(storage, about)
    if not _finished(study):
        for parameters in first:
            study.enqueue_trial(parameters, skip_if_exists=True)
    if verbose and measure.remark:
        say(measure.remark)
    evaluate = partial(_evaluate, estimator, X, values, y, measure)

    def seeds_of(
        number: int,
    ) -> Seeds:  # those given, or one that depends on the number of the trial
        if seeds is None:
            return [_derived_seed(random_state, number, 1)]
        return [int(seed) for seed in seeds]

    ends = math.inf if timeout is None else time.monotonic() + timeout
    with showing(Work("tuning", n_trials, "trials", stays=True), shown=bool(verbose)) as advance:
        jobs = Parallel(n_jobs=n_jobs)
        _search(
            study,
            space,
            seeds_of,
            evaluate,
            n_trials,
            ends,
            random_state,
            jobs,
            advance,
            verbose=bool(verbose),
        )
    best = _best_trial(study, measure)
    warn_of_edges(best.params, space)
    model = _seeded(
        clone(estimator).set_params(**best.params), best.user_attrs.get(SEEDS, seeds)[0]
    ).fit(X)
    return Tuned(model, best.params, best.value, study)


def _search(
    study: Any,
    space: SearchSpace,
    seeds_of: Callable[[int], Seeds],
    evaluate: Callable[[dict[str, Any], Seeds], TrialOutcome],
    n_trials: int,
    ends: float,
    random_state: int,
    parallel: Parallel,
    advance: Advance,
    *,
    verbose: bool,
) -> None:
    """Run trials in rounds of ``n_jobs``, until there are ``n_trials`` or time is up.

    Say each that is the best.
    """
    known = {
        _key(trial): (trial.value, trial.user_attrs.get(ERROR, "")) for trial in _finished(study)
    }
    best = max((score for score, error in known.values() if not error), default=-math.inf)
    advance(len(_finished(study)), _best_so_far(study))
    while (n_done := len(_finished(study))) < n_trials and (time.monotonic() < ends or not n_done):
        # seeded by the number of trials, so that a resumed search makes the same proposals
        seed = _derived_seed(random_state, n_done)
        n_at_once = min(parallel._effective_n_jobs(), n_trials - n_done)
        study.sampler = optuna.samplers.TPESampler(seed=seed, constant_liar=n_at_once > 1)
        trials = [study.ask(space) for _ in range(n_at_once)]
        for number, trial in enumerate(trials, n_done):
            trial.set_user_attr(SEEDS, seeds_of(number))
        new = {key: trial for trial in trials if (key := _key(trial)) not in known}
        calls = (delayed(evaluate)(trial.params, trial.user_attrs[SEEDS]) for trial in new.values())
        known |= dict(zip(new, parallel(calls), strict=True))
        for trial in trials:
            score, error = known[_key(trial)]
            if error:
                trial.set_user_attr(ERROR, error)
            study.tell(trial, score)
            if not error and score > best:
                best = score
                if verbose:
                    named = (
                        (name.removeprefix(INNER), _brief_value(value))
                        for name, value in trial.params.items()
                    )
                    said = ", ".join(f"{name}={value}" for name, value in named)
                    say(f"trial {trial.number}: {score:.4g} with {said}")
        advance(len(trials), _best_so_far(study))


def _brief_value(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def warn_of_edges(best: dict[str, Any], space: SearchSpace) -> None:
    """Warn if the best value of a parameter is at the edge of its range, beyond which there may be
    a better one.
    """
    for name, value in best.items():
        where = space[name]
        short = name.removeprefix(INNER)
        shown = _brief_value(value)
        if hasattr(where, "choices") or where.single() or short in OF_VIEWS:
            continue
        if isinstance(value, int):
            room = 0
        else:
            room = EDGE_SHARE * (where.high - where.low)
        if short in NUMBER_NAMES and value == where.low:
            _warn(
                f"{short}={shown} is the smallest number of clusters that was tried. Scores often "
                "prefer few clusters: look at the next best trials before you use it."
            )
        elif value <= where.low + room or value >= where.high - room:
            _warn(
                f"{short}={shown} is at the edge of its range, {where.low:g} to {where.high:g}: a "
                "value beyond it may be better. Widen search_space."
            )


def _warn(message: str) -> None:
    warnings.warn(message, UserWarning, stacklevel=4)  # the caller of tune


def _evaluate(
    estimator: Any,
    X: Any,
    values: Any,
    y: Any,
    metric: Metric,
    params: dict[str, Any],
    seeds: Seeds,
) -> TrialOutcome:
    """Return the mean score of fits with ``params``.

    The worst score and the error if a fit or its score fails.
    """
    scores = []
    for seed in seeds:
        model = _seeded(clone(estimator).set_params(**params), seed)
        try:
            with warnings.catch_warnings():
                # a search tries many parameters that cause warnings
                warnings.simplefilter("ignore")
                scores.append(metric(values, model.fit_predict(X), y))
        except Exception as error:
            return metric.worst, f"{type(error).__name__}: {error}"
    return float(np.mean(scores)), ""


def _derived_seed(*path: int) -> int:
    return int(np.random.SeedSequence(path).generate_state(1)[0])


def _seeded(method: Any, seed: int) -> Any:
    """Set the seeds of a method; CoHiRF seeds its base method itself."""
    names = [name for name in method.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
    if isinstance(method, CoHiRF):
        names = ["random_state"]
    return method.set_params(**dict.fromkeys(names, seed))


def _check_search(
    estimator: Any, X: Any, space: SearchSpace, n_trials: int, seeds: Seeds | None
) -> None:
    if not hasattr(X, "shape"):
        raise TypeError(
            f"X is a {type(X).__name__}: pass an array, a CSR matrix or a data frame; scores need "
            "all rows in memory."
        )
    if unknown := [name for name in space if name not in estimator.get_params()]:
        raise ValueError(
            f"search_space has {unknown[0]!r}, which is not a parameter of "
            f"{type(estimator).__name__}."
        )
    for name, given in (("search_space", space), ("seeds", seeds)):
        if given is not None and len(given) == 0:
            raise ValueError(f"{name} is empty: give at least one.")
    if n_trials < 1:
        raise ValueError(f"n_trials={n_trials} is not valid: give at least 1.")


def _describe_search(
    estimator: Any, values: Any, y: Any, metric: Any, space: SearchSpace, seeds: Seeds | None
) -> dict[str, str]:
    """Describe everything that the score of a trial depends on, apart from its parameters, as
    text.
    """
    facts = {
        "data": values,
        "classes": y,
        "metric": metric,
        "search space": space,
        "seeds": seeds if seeds is None else tuple(seeds),
    }
    parameters = {
        name: value
        for name, value in estimator.get_params().items()
        if name.rsplit("__", 1)[-1] not in WITHOUT_EFFECT
    }
    return {
        name: describe(value)
        for name, value in (facts | {"method": estimator} | parameters).items()
    }


def _open_study(storage: Any, about: dict[str, str]) -> Any:
    """Return a new study, or the one in ``storage``.

    Raise if that belongs to a different search.
    """
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    if storage is None:
        return optuna.create_study(direction="maximize")
    # without a pool of connections: it would keep the file open for as long as the study lives
    try:
        pool = {"poolclass": sqlalchemy.pool.NullPool}
        opened = optuna.storages.RDBStorage(f"sqlite:///{os.fspath(storage)}", engine_kwargs=pool)
        study = optuna.create_study(
            direction="maximize", storage=opened, study_name=NAME, load_if_exists=True
        )
    except (optuna.exceptions.StorageInternalError, sqlalchemy.exc.SQLAlchemyError) as error:
        said = str(error.__cause__ or error).splitlines()[0]
        raise ValueError(
            f"{storage} cannot be used as storage: {said}. Give the path of a new SQLite file."
        ) from error
    for trial in study.get_trials(deepcopy=False, states=[optuna.trial.TrialState.RUNNING]):
        # interrupted before it had a score
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
    before = study.user_attrs.get(NAME, about)
    study.set_user_attr(NAME, before)
    if changed := sorted(
        name for name in before.keys() | about.keys() if before.get(name) != about.get(name)
    ):
        raise ValueError(f"{storage} has a search with other {changed[0]}. Give another storage.")
    return study


def _finished(study: Any) -> list[Any]:
    """Return the trials that have a score; interrupted trials do not."""
    return [trial for trial in study.get_trials(deepcopy=False) if trial.value is not None]


def _best_so_far(study: Any) -> str:
    finished = _finished(study)
    if finished:
        return f"best score {max(trial.value for trial in finished):.4g}"
    return ""


def _best_trial(study: Any, metric: Metric) -> Any:
    """Return the best trial, the first one if several are equal; raise if all trials failed."""
    finished = _finished(study)
    worked = [trial for trial in finished if ERROR not in trial.user_attrs]
    if not worked:
        raise ValueError(
            f"All {len(finished)} trials failed, the last one with {finished[-1].user_attrs[ERROR]}"
        )
    best = max(worked, key=lambda trial: trial.value)
    if best.value == metric.worst:
        warnings.warn(
            f"None of the {len(finished)} trials found more than one cluster, or fewer than there "
            "are rows: widen search_space, or choose another base method.",
            UserWarning,
            stacklevel=3,
        )
    return best


def _key(trial: Any) -> tuple[Any, ...]:
    """Return what the outcome of a trial depends on: its seeds and parameters."""
    return (*trial.user_attrs.get(SEEDS, ()), *sorted(trial.params.items()))
