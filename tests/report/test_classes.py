"""Known classes of the clusters of every cut."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from cohirf.report.classes import ClassCounts
from cohirf.report.cuts import find_cuts
from cohirf.report.study import check_study


@pytest.mark.parametrize("data", ["iris", "noisy"])
def test_agreement_is_that_of_scikit_learn(data, request):
    given = request.getfixturevalue(data)
    X, model = given[0], given[-1]
    y = np.arange(len(X)) % 7 if data == "noisy" else given[1]
    study, cuts = check_study(model, X, y, None), find_cuts(model)
    counts = ClassCounts.of(study.classes, cuts[0])
    for cut in cuts:
        assert counts.agreement(cut) == pytest.approx(adjusted_rand_score(y, cut.labels))


def test_the_main_class_is_the_most_frequent_one(iris):
    X, species, model = iris
    cuts = find_cuts(model)
    counts = ClassCounts.of(check_study(model, X, species, None).classes, cuts[0])
    for cut in cuts:
        for label, found in enumerate(counts.find_main(cut, np.arange(cut.n_clusters))):
            names, sizes = np.unique(species[cut.labels == label], return_counts=True)
            assert found["share"] == sizes.max() / sizes.sum()
            assert found["name"] in names[sizes == sizes.max()]
