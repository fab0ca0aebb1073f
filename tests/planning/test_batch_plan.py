"""The batch size that is chosen, from the first probe to the last level of the fit."""

import math
import subprocess
import sys
import warnings
from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest
from hungry import Hungry, contraction_of
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF
from cohirf.planning import BatchPlan, Room, draw_rows, plan_batches, probe
from cohirf.planning import plan as plan_module
from cohirf.planning.memory import resident_bytes
from cohirf.planning.plan import (
    PlannedFit,
    choose,
    forecast_levels,
    list_candidates,
    smallest_batch,
)
from cohirf.planning.probe import BatchCost, Probe
from systems import linux_only

X = np.random.default_rng(0).normal(size=(20_000, 4))
MB = 10**6


@pytest.fixture(autouse=True)
def one_process_for_all(call, monkeypatch):
    monkeypatch.setattr(plan_module, "fresh_process", lambda: nullcontext(call))
    # on a slow machine, as many probes as on a fast one
    monkeypatch.setitem(vars(probe.PROBE), "seconds", math.inf)


def plan_for(base, room, **options):
    """Plan for a limit that leaves ``room`` bytes beyond what this process takes."""
    room = Room(**{"memory_limit": resident_bytes() + room, "held_bytes": 0} | options)
    return plan_batches(
        lambda size: X[draw_rows(len(X), size, (0,))], len(X), contraction_of(base, 4), room
    )


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize(
    ("factor", "power", "limit", "n_jobs", "held", "room"),
    [
        (30_000, 1, 60, 1, 0, 60),
        (100, 2, 250, 1, 0, 250),
        pytest.param(
            30_000, 1, 120, 4, 0, 30, id="batches that run at the same time share the room"
        ),
        pytest.param(30_000, 1, 160, 1, 100, 60, id="what the fit holds is not there for batches"),
    ],
)
def test_the_largest_batch_that_fits_is_measured_and_chosen(
    factor, power, limit, n_jobs, held, room
):
    plan = plan_for(Hungry(factor, power), limit * MB, n_jobs=n_jobs, held_bytes=held * MB)
    most = factor * (1.5 * plan.batch_size) ** power
    assert room / 2 < most / MB < room
    assert plan.n_bytes < plan.memory_limit
    assert plan.why == "memory"


@pytest.mark.slow
@linux_only
def test_processes_take_the_interpreter_once_more():
    alone, beside = (
        plan_for(Hungry(30_000), 600 * MB, in_processes=processes) for processes in (False, True)
    )
    assert beside.batch_size < alone.batch_size
    assert beside.n_bytes < beside.memory_limit


def test_rows_that_fit_in_one_batch_are_not_divided():
    plan = plan_for(Hungry(1), 500 * MB)
    assert plan.batch_size == len(X)
    assert (plan.n_batches, plan.n_levels) == (1, 2)
    assert plan.why == "all rows"


@pytest.mark.parametrize("n_rows", [1, 2, 99, 149])
def test_few_rows_are_one_batch_and_nothing_is_measured(n_rows, monkeypatch):
    monkeypatch.setattr(
        plan_module, "fresh_process", lambda: pytest.fail("a process was started to measure")
    )
    model = CoHiRF.as_published(KMeans(1, n_init=1), batch_size="1TB", views=2).fit(X[:n_rows])
    assert model.diagnostics_[0].n_batches == 1
    plan = plan_batches(pytest.fail, n_rows, contraction_of(KMeans(200), 4), Room(10**12))
    assert (plan.batch_size, plan.n_batches, plan.probes) == (n_rows, 1, ())
    assert plan.describe() == f"batch_size={n_rows}: one batch; {n_rows} rows are too few to divide"


def test_few_rows_need_room_all_the_same():
    with pytest.raises(
        ValueError, match=r".* of memory is too little: this process takes .* already"
    ):
        plan_batches(pytest.fail, 50, contraction_of(KMeans(2), 4), Room(1000))


def test_rows_that_can_be_divided_are_measured():
    limit = resident_bytes() + 500 * MB
    plan = plan_batches(lambda size: X[:size], 150, contraction_of(KMeans(2), 4), Room(limit))
    assert plan.batch_size == 150
    assert all(probe.n_rows <= 150 for probe in plan.probes)
    assert plan.probes


def test_sparse_rows_are_planned_for():
    rows = sparse.random(5000, 50, density=0.1, format="csr", random_state=0)
    plan = plan_batches(
        lambda size: rows[draw_rows(5000, size, (0,))],
        5000,
        contraction_of(KMeans(3), 50),
        Room(resident_bytes() + 500 * MB),
    )
    assert plan.batch_size == 5000


def test_what_was_probed_is_told():
    plan = plan_for(Hungry(1000), 500 * MB)
    assert len(plan.probes) > 3
    assert plan.probes[0].n_rows == 100
    assert max(probe.n_rows for probe in plan.probes) <= len(X)


def test_planning_leaves_the_labels_as_they_are():
    model = CoHiRF.as_published(KMeans(5), views=2, batch_size=3000, random_state=0)
    before = model.fit(X).labels_
    np.random.seed(7)  # noqa: NPY002 - the state that must not move
    plan_for(KMeans(5), 500 * MB)
    assert np.random.randint(10**6) == np.random.RandomState(7).randint(10**6)  # noqa: NPY002 - likewise
    assert (model.fit(X).labels_ == before).all()


def test_a_method_that_looks_for_many_clusters_gets_more_rows():
    assert smallest_batch(contraction_of(KMeans(8), 4), 10**6) == 100
    assert smallest_batch(contraction_of(KMeans(50), 4), 10**6) == 500
    assert smallest_batch(contraction_of(KMeans(50), 4), 300) == 300


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"memory_limit": 50 * MB},
            r"^50 MB of memory is too little: this process takes [\d.]+ [MG]B already, .*Allow",
        ),
        (
            {"memory_limit": 50 * MB, "taken_bytes": 50 * MB},
            r"left takes 50 MB already, and .* start workers with more",
        ),
        ({"held_bytes": 500 * MB}, "the fit takes another 500 MB apart from its batches"),
    ],
)
def test_a_limit_below_what_is_taken_is_refused_with_the_numbers(options, message):
    with pytest.raises(ValueError, match=message):
        plan_for(Hungry(), 400 * MB, **options)


def test_what_counts_is_the_process_that_runs_batches():
    limit = resident_bytes() - MB
    assert plan_for(Hungry(), 0, memory_limit=limit, taken_bytes=MB).memory_limit == limit


@pytest.mark.slow
@linux_only
def test_a_limit_below_the_smallest_batch_says_what_is_needed():
    message = (
        r"too little for batches of 100 rows, which need least .*: [\d.]+ [MG]B with n_jobs=1, "
        r"of which [\d.]+ [MG]B is"
    )
    with pytest.raises(ValueError, match=message):
        plan_for(Hungry(10**6), 60 * MB)


def test_an_error_of_the_base_method_surfaces_as_itself():
    class Broken(Hungry):
        def fit(self, X, y=None):
            raise ZeroDivisionError("no rows like these")

    with pytest.raises(ZeroDivisionError, match="no rows like these"):
        plan_for(Broken(), 500 * MB)


def candidate_sizes(n_rows, memory_limit, n_jobs=1, smallest=100):
    """Return the sizes that come into question where a row takes 100 bytes and probes went up to
    20,000 rows.
    """
    cost = BatchCost.learn([Probe(size, 1, size / 1e4, 100 * size) for size in (100, 2000, 20_000)])
    task = PlannedFit(n_rows, n_runs=1, smallest_batch=smallest, room=Room(memory_limit, n_jobs))
    return [candidate.batch_size for candidate in list_candidates(task, cost)]


def test_sizes_go_four_times_as_far_as_the_probes():
    sizes = candidate_sizes(10**6, memory_limit=10**9)
    assert sizes == [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000]
    assert 1.5 * sizes[-1] <= 80_000


def test_where_memory_decides_a_size_that_fills_it_comes_into_question():
    # 130 bytes a row with the margin, one and a half times 23,000 rows: 4.5 MB; the next size would
    # take 5.5 MB
    assert candidate_sizes(10**6, memory_limit=5 * 10**6)[-3:] == [20_000, 23_000, 50_000]


def test_all_rows_come_into_question_where_the_probes_reach_as_far():
    assert candidate_sizes(50_000, memory_limit=10**9)[-2:] == [20_000, 50_000]
    assert candidate_sizes(81_000, memory_limit=10**9)[-1] == 50_000


def test_too_few_rows_for_two_batches_are_one_however_far_the_probes_reach():
    assert candidate_sizes(81_000, memory_limit=10**9, smallest=60_000) == [81_000]


def test_local_batches_are_contracted_once_and_have_halos():
    # nothing merges
    cost = BatchCost.learn(
        [Probe(size, size, size / 1e4, 100 * size) for size in (100, 2000, 20_000)]
    )
    task = PlannedFit(10**6, n_runs=1, smallest_batch=100, room=Room(10**9, 2), overlap=0.5)
    found = task.forecast(10_000, cost)
    assert (found.n_batches, found.n_levels) == (150, 2)
    assert found.seconds == pytest.approx(75)
    assert replace(task, overlap=None).forecast(10_000, cost).seconds == math.inf


@pytest.mark.parametrize(
    ("candidates", "chosen"),
    [
        pytest.param(
            [(100, 500), (1000, 300), (10_000, 290)], 10_000, id="the largest, if it costs no more"
        ),
        pytest.param(
            [(100, 500), (1000, 300), (10_000, 590), (10**5, 610)],
            10_000,
            id="at most twice the cheapest",
        ),
        pytest.param([(100, 1), (1000, 20), (10_000, 61)], 1000, id="or less than a minute"),
        pytest.param(
            [(100, math.inf), (1000, 900), (10_000, 1000)],
            10_000,
            id="that nothing merges is not cheap",
        ),
        pytest.param(
            [(100, math.inf), (1000, math.inf)], 1000, id="the largest, if nothing merges in any"
        ),
        pytest.param([(100, 5), (1000, 5, 101)], 100, id="nothing that does not fit"),
        pytest.param([(100, 5, 101)], None, id="none, if none fits"),
    ],
)
def test_the_largest_batch_that_fits_in_reasonable_time_is_chosen(candidates, chosen):
    plans = [
        BatchPlan(
            size,
            10**6 // size,
            memory_limit=100,
            n_levels=3,
            seconds=seconds,
            needed=sum(needed) or 100,
        )
        for size, seconds, *needed in candidates
    ]
    assert getattr(choose(plans), "batch_size", None) == chosen


def cost_of(n_survivors, seconds=lambda b: b / 1000, sizes=(100, 1000, 10_000)):
    return BatchCost.learn(
        [Probe(size, n_survivors(size), seconds(size), 1000 * size) for size in sizes]
    )


def test_both_laws_are_learned_from_the_probes():
    cost = cost_of(lambda b: 2, seconds=lambda b: b**2 / 1e6)
    assert cost.seconds(20_000) == pytest.approx(400, rel=0.01)
    assert cost.n_bytes(20_000) == pytest.approx(2e7, rel=0.01)


def test_the_share_of_survivors_is_interpolated_and_then_constant():
    cost = cost_of(lambda b: {100: 100, 1000: 500, 10_000: 1000}[b])
    assert cost.survivors(10) == 10
    assert cost.survivors(1000) == 500
    assert 1000 * 0.5 < cost.survivors(3000) < 3000 * 0.5
    assert cost.survivors(40_000) == 4000


@pytest.mark.parametrize(
    ("batch_size", "n_survivors", "n_jobs", "n_levels", "seconds"),
    [
        pytest.param(
            10_000, lambda b: 2, 1, 2, 10, id="one batch is contracted and then left alone"
        ),
        pytest.param(10_000, lambda b: b, 1, 1, 10, id="one batch that merges nothing is done"),
        # 9 batches of 1000 at the first level, what they leave and the tenth batch at the second
        pytest.param(
            1000, lambda b: 0, 1, 3, 10, id="the batch held aside is contracted at the second level"
        ),
        pytest.param(
            1000, lambda b: 0, 3, 3, 4, id="three batches at the same time take the time of one"
        ),
        pytest.param(
            1000, lambda b: b, 1, 1, math.inf, id="batches that merge nothing take forever"
        ),
    ],
)
def test_levels_are_simulated(batch_size, n_survivors, n_jobs, n_levels, seconds):
    levels = forecast_levels(10_000, batch_size, cost_of(n_survivors), n_jobs)
    assert levels == (n_levels, pytest.approx(seconds, rel=0.01))


def test_survivors_need_more_levels():
    few, many = (
        forecast_levels(10**6, 1000, cost_of(lambda b, s=share: int(s * b)), 1)
        for share in (0.01, 0.7)
    )
    assert many[0] > few[0]
    assert many[1] > 2 * few[1]


PLAN = BatchPlan(2000, 100, 2000 * MB, 3, 31.4, 410 * MB, why="memory")


def test_a_plan_is_described_in_one_line():
    assert PLAN.describe() == (
        "batch_size=2000: 100 batches, about 3 levels and 31 s, 410 MB of 2 GB memory; larger "
        "batches would not fit"
    )
    one = replace(PLAN, n_batches=1, seconds=600.0, why="all rows").describe()
    assert one == (
        "batch_size=2000: one batch, about 3 levels and 10 min, 410 MB of 2 GB memory; all rows "
        "fit in one batch"
    )
    assert (
        "100 batches, in which hardly any rows merge, 410 MB"
        in replace(PLAN, seconds=math.inf).describe()
    )
    assert "2.5 h" in replace(PLAN, seconds=9000.0).describe()


FIT_UNDER_A_LIMIT = """
import sys
import warnings
import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF
from cohirf.planning import Room, draw_rows, plan_batches
from cohirf.planning.memory import reset_peak, peak_bytes, resident_bytes
from hungry import contraction_of

rng = np.random.default_rng(0)
base, n_rows, n_features, n_jobs, room = {case}
X = rng.normal(size=(n_rows, n_features))
X /= np.linalg.norm(X, axis=1, keepdims=True)
# compiled code of the fit, which the plan of scikit-learn's DBSCAN does not know
CoHiRF.as_published(base, views=1, batch_size=n_rows // 10, random_state=0).fit(X)
reset_peak()
limit = resident_bytes() + room
plan = plan_batches(
    lambda size: X[draw_rows(n_rows, size, (0,))],
    n_rows,
    contraction_of(base, n_features),
    Room(limit, n_jobs),
)
reset_peak()
CoHiRF.as_published(base, views=1, batch_size=plan.batch_size, n_jobs=n_jobs, random_state=0).fit(X)
print(plan.n_batches, plan.n_bytes / limit, peak_bytes() / limit)
"""


@pytest.mark.slow
@linux_only
@pytest.mark.parametrize(
    "case",
    [
        "KMeans(8, n_init=1), 400_000, 4, 1, 60_000_000",
        "DBSCAN(eps=0.3), 30_000, 3, 1, 60_000_000",
        "DBSCAN(eps=0.3), 30_000, 3, 2, 120_000_000",
        "SCSRGF(5, n_affinities=5, n_fusion_iter=2), 3000, 10, 1, 60_000_000",
    ],
)
def test_a_fit_in_the_chosen_batches_stays_under_the_limit(case):
    code = FIT_UNDER_A_LIMIT.format(case=case)
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=path
    )
    assert done.returncode == 0, done.stderr
    n_batches, expected, peak = (float(number) for number in done.stdout.split())
    assert n_batches > 1
    assert peak <= 1
    assert expected <= 1


def plan_growing(factor):
    """Plan for batches that grow to a multiple of their size, and return the warnings."""
    limit = resident_bytes() + 60 * MB
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plan = plan_batches(
            lambda size: X[:size],
            len(X),
            contraction_of(Hungry(30_000, 1), 4),
            Room(limit, held_bytes=0),
            grow=lambda size: factor * size,
        )
    assert plan.n_batches > 1
    return plan, [str(warning.message) for warning in caught]


def test_batches_that_grow_beyond_the_memory_limit_are_told_before_the_fit():
    plan, [told] = plan_growing(10)
    assert (
        f"batches of {plan.batch_size} rows would fit, but grow to {10 * plan.batch_size}" in told
    )


def test_batches_that_stay_as_they_are_are_not_told():
    assert plan_growing(1)[1] == []


@pytest.mark.parametrize(("n_batches", "says_seconds"), [(3, False), (1, True)])
def test_no_time_is_forecast_for_batches_that_grow(n_batches, says_seconds, monkeypatch, capsys):
    X = np.random.default_rng(0).random((300, 2))
    plan = replace(PLAN, batch_size=300 // n_batches, n_batches=n_batches)
    monkeypatch.setattr("cohirf.fitting.begin.plan_batches", lambda *arguments, **options: plan)
    CoHiRF(DBSCAN(0.1, metric="manhattan"), batch_size="2GB", verbose=1).fit(X)
    said = capsys.readouterr().out
    assert (plan.describe() in said) == says_seconds
    assert (f"batch_size={plan.batch_size}: larger where the neighbours" in said) != says_seconds
