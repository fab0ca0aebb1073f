"""Results of the library say in words what they hold."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from cohirf import Changes, Choice, CoHiRF, suggest_eps
from cohirf.app.explain import say
from cohirf.app.explain.drift import show_drift
from cohirf.app.explain.results import WHY_NOT_LARGER
from cohirf.facts import measure_cut
from cohirf.planning import BatchPlan

X, _ = make_blobs(400, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)


def test_a_result_that_is_printed_or_described_says_what_the_application_says():
    model = CoHiRF(random_state=0).fit(X[:300]).partial_fit(X[300:])
    drift = model.drift(X)
    results = [model.choice_, model.changes_, model.history_[-1], drift, suggest_eps(X)]
    for result in results:
        assert str(result) == result.describe() == say(result)
    assert str(model.choice_).startswith("3 clusters fit best, with a silhouette of ")
    assert str(model.changes_).startswith("Update 1: 100 rows added, ")
    assert str(drift) == show_drift(drift)


@pytest.mark.slow
def test_words_are_imported_when_they_are_asked_for():
    code = (
        "import sys; from cohirf import Choice, CoHiRF; CoHiRF(random_state=0).fit([[0.0], [1.0]])\n"
        "assert not [name for name in sys.modules if name.startswith('cohirf.app')]\n"
        "print(Choice(3))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "3 clusters were asked for.\n"


def test_what_has_no_words_is_refused():
    with pytest.raises(TypeError, match="A float has no words"):
        say(1.0)


def test_a_long_line_of_changes_ends_with_how_many_more_there_are():
    changes = Changes(3, 40, born=dict.fromkeys(range(10), 2), gone=[11], verb="recluster")
    assert str(changes).splitlines() == [
        "Update 3: clusters found anew, 0 older rows have another number",
        "  born: " + "; ".join(f"{number} (2 rows)" for number in range(8)) + "; and 2 more",
        "  gone: 11",
    ]


def test_a_choice_without_figures_says_what_is_known():
    assert str(Choice(1)) == "There is one cluster, and nothing to choose."
    given = Choice(1200, cuts=np.array([0.1, 0.2, 0.3]), merge="connected", is_merge_given=True)
    assert str(given) == (
        "The clusters are connected, as asked for: 20.0% of near neighbours are in another cluster "
        "(compact 10.0%, graph 30.0%)."
    )


def test_clusters_of_equal_rows_have_no_near_neighbours_that_are_cut():
    X = np.repeat(np.eye(3), 20, axis=0)
    model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    assert model.choice_.is_compared
    assert np.isnan(model.choice_.cut)
    assert str(model.choice_).endswith("The clusters are compact.")
    assert np.isnan(measure_cut(model, model.labels_))
    model = CoHiRF(n_clusters=3, merge="compact", random_state=0).fit(X)
    assert np.isnan(measure_cut(model, model.labels_))


@pytest.mark.parametrize(("why", "words"), WHY_NOT_LARGER.items())
def test_a_plan_says_what_keeps_batches_from_being_larger(why, words):
    assert str(BatchPlan(100, 2, 10**9, why=why)) == f"batch_size=100: 2 batches; {words}"
