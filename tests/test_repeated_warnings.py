"""Warnings of the base method come once in a fit, and the warnings module is left as it was."""

import threading
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from cohirf import CoHiRF
from cohirf.error_contexts import (
    collecting_warnings,
    issue_again,
    showing_warnings_once,
    warning_once_a_fit,
)

X = np.random.default_rng(0).normal(size=(120, 2))


class Warner(BaseEstimator):
    """Warns in each call, with the number of rows, and puts rows together by sign."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_predict(self, X):
        warnings.warn(f"{len(X)} rows did not settle", ConvergenceWarning, stacklevel=1)
        return (X[:, 0] > 0).astype(int)


class NamedWarning(UserWarning):
    """Has its own arguments, as InconsistentVersionWarning of scikit-learn."""

    def __init__(self, *, name):
        super().__init__(f"{name} is old")


def warnings_of(fit):
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        fit()
    return [str(warning.message) for warning in shown]


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("batch_size", [None, 40])
def test_a_warning_comes_once_in_a_fit(n_jobs, batch_size):
    model = CoHiRF.as_published(Warner(), batch_size=batch_size, n_jobs=n_jobs, random_state=0)
    assert [
        text for text in warnings_of(lambda: model.fit(X)) if text.endswith("rows did not settle")
    ] != []
    assert (
        sum(text.endswith("rows did not settle") for text in warnings_of(lambda: model.fit(X))) == 1
    )


def test_a_warning_of_scikit_learn_comes_once_in_a_fit():
    model = CoHiRF.as_published(GaussianMixture(5, max_iter=1), random_state=0)
    shown = warnings_of(lambda: model.fit(X))
    assert sum("did not converge" in text for text in shown) == 1


def test_a_fit_within_a_fit_does_not_repeat_warnings():
    shown = warnings_of(
        lambda: CoHiRF.as_published(
            CoHiRF.as_published(Warner(), views=2), views=2, random_state=0
        ).fit(X)
    )
    assert sum(text.endswith("rows did not settle") for text in shown) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_filter_that_makes_warnings_errors_does_so(n_jobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning, match="rows did not settle"):
            CoHiRF.as_published(Warner(), n_jobs=n_jobs, random_state=0).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("action", ["always", "error", "ignore"])
def test_a_warning_of_worker_processes_comes_once_through_the_filters_of_the_fit(action):
    X = np.repeat(np.eye(3), 20, axis=0)
    model = CoHiRF.as_published(
        KMeans(8, n_init=1), views=2, batch_size=20, n_jobs=2, random_state=0
    )
    with warnings.catch_warnings(record=True) as shown, parallel_config(backend="loky"):
        warnings.simplefilter(action)
        with pytest.raises(ConvergenceWarning) if action == "error" else nullcontext():
            model.fit(X)
    assert sum("distinct clusters" in str(warning.message) for warning in shown) == (
        action == "always"
    )


def test_collected_warnings_are_issued_again_where_they_arose():
    def collect():
        with collecting_warnings() as collected, warning_once_a_fit():
            for n in range(3):
                warnings.warn(f"{n} rows did not settle", ConvergenceWarning, stacklevel=1)
            warnings.warn_explicit(NamedWarning(name="this"), None, "there.py", 7)
        return collected

    assert warnings_of(collect) == []
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        collected = collect()
        issue_again(collected)
    assert [(warning.category, str(warning.message)) for warning in shown] == [
        (ConvergenceWarning, "0 rows did not settle"),
        (UserWarning, "this is old"),  # made anew without its arguments, which only the worker has
    ]
    assert shown[0].filename == __file__
    assert (shown[1].filename, shown[1].lineno) == ("there.py", 7)


def test_other_warnings_are_shown_each_time():
    def warn_twice():
        with showing_warnings_once():
            for _ in range(2):
                warnings.warn("not of the base method", UserWarning, stacklevel=1)

    assert warnings_of(warn_twice) == ["not of the base method"] * 2


def test_different_warnings_are_shown_all():
    def warn():
        with showing_warnings_once(), warning_once_a_fit():
            for text in ("one thing", "another", "one thing"):
                warnings.warn(text, UserWarning, stacklevel=1)
            warnings.warn("one thing", RuntimeWarning, stacklevel=1)

    assert warnings_of(warn) == ["one thing", "another", "one thing"]


def test_fits_that_overlap_leave_the_warnings_module_as_it_was():
    before = warnings.showwarning
    filters = list(warnings.filters)
    first = showing_warnings_once()
    second = showing_warnings_once()
    first.__enter__()
    thread = threading.Thread(target=second.__enter__)
    thread.start()
    thread.join()
    assert warnings.showwarning is not before
    first.__exit__(None, None, None)
    second.__exit__(None, None, None)
    assert warnings.showwarning is before
    assert warnings.filters == filters


def test_what_another_thread_puts_back_too_late_shows_everything():
    def warn_after_the_last_fit():
        with showing_warnings_once():
            left_over = warnings.showwarning
        warnings.showwarning = left_over
        with warning_once_a_fit():
            for _ in range(2):
                warnings.warn("after the fit", UserWarning, stacklevel=1)

    assert warnings_of(warn_after_the_last_fit) == ["after the fit"] * 2


def test_a_library_that_wraps_the_function_during_a_fit_does_not_disturb_the_next_fit():
    def fit_twice():
        with showing_warnings_once():
            found = warnings.showwarning
            warnings.showwarning = lambda *args, **named: found(*args, **named)
        with showing_warnings_once(), warning_once_a_fit():
            for _ in range(2):
                warnings.warn("in the second fit", UserWarning, stacklevel=1)

    assert warnings_of(fit_twice) == ["in the second fit"]
