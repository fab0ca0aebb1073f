"""A merge criterion is one file: the package with three more of them fits, saves, draws and says all
that it does with its own.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.metrics import adjusted_rand_score

import cohirf
from cohirf import CoHiRF, ModelFileError, load
from cohirf.beyond import merges
from cohirf.beyond.choose_merge import MERGES
from cohirf.beyond.criterion import criterion_of

# asked for alone; around means, so that fits end in cells; compared by "auto"
FILES = {
    "average": "",
    "average_cells": "around_means=True",
    "average_too": "place=3",
}
CODE = '''
from scipy.cluster.hierarchy import linkage

from cohirf.beyond.criterion import Criterion, OneLinkage


def merge_rows(rows):
    """The groups merge whose rows have the smallest mean distance."""
    return OneLinkage(linkage(rows.points, "average"), rows.mass)


CRITERION = Criterion(name={name!r}, kind="near each other", merge_rows=merge_rows, {more})
'''
USES = """
import json, sys
import numpy as np
from sklearn.mixture import GaussianMixture
from cohirf import CoHiRF, load
from cohirf.app.explain import say, write_report

X = np.load("X.npy")
found = {}


def fit(estimator=None, merge="average", **parameters):
    return CoHiRF(estimator, merge=merge, random_state=0, **{"n_clusters": 3, **parameters}).fit(X)


model = fit()
found["labels"] = model.labels_.tolist()
found["predicted"] = model.predict(X).tolist()
found["choice"] = [model.choice_.merge, model.choice_.is_merge_given, str(model.choice_.cut)]
found["words"] = say(model.choice_)
found["diagnosis"] = str(model.diagnose())
found["summary"] = len(model.summary(X))
found["cuts"] = [len(np.unique(model.hierarchy_.cut(n_clusters=k))) for k in range(1, 10)]
write_report(model, X, "page.html")
model.save("saved.cohirf")
found["loaded"] = load("saved.cohirf").predict(X).tolist()
found["batches"] = fit(GaussianMixture(3), batch_size=100).choice_.merge
found["chosen"] = fit(n_clusters="auto").choice_.merge
cells = fit(merge="average_cells")
found["cells"] = [cells.labels_.tolist(), cells.predict(X).tolist(), say(cells.choice_)]
auto = fit(merge="auto")
found["auto"] = [len(auto.choice_.cuts), auto.choice_.is_compared, say(auto.choice_)]
found["asked"] = fit(merge="average_too").choice_.is_compared
write_report(auto, X, "page_of_all.html")
model.partial_fit(X[:20] + 0.01)
found["updated"] = model.n_clusters_
print(json.dumps(found))
"""


def three_clusters():
    """Return rows that merges divide in several ways."""
    rng = np.random.default_rng(2)
    return np.concatenate(
        [
            rng.normal([0, 0], 2.0, (200, 2)),
            rng.normal([14, 0], 0.4, (50, 2)),
            rng.normal([18, 0], 0.4, (50, 2)),
        ]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the rows, and a copy of the package with three more files."""
    folder = tmp_path_factory.mktemp("with_more")
    package = folder / "src" / "cohirf"
    shutil.copytree(Path(cohirf.__file__).parent, package)
    for name, more in FILES.items():
        code = CODE.format(name=name, more=more)
        (package / "beyond" / "merges" / f"{name}.py").write_text(code, encoding="utf-8")
    np.save(folder / "X.npy", three_clusters())
    return folder


def run(folder, code):
    """Return what code prints that uses the copy."""
    environment = os.environ | {"PYTHONPATH": str(folder / "src"), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", code],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    ).stdout


@pytest.fixture(scope="module")
def found(folder):
    return json.loads(run(folder, USES).splitlines()[-1])


@pytest.mark.slow
def test_a_fit_has_the_clusters_of_the_new_criterion(found):
    expected = fcluster(linkage(three_clusters(), "average"), 3, "maxclust")
    assert adjusted_rand_score(expected, found["labels"]) == 1
    assert found["predicted"] == found["labels"]
    assert found["choice"] == ["average", True, "nan"]
    assert found["cuts"] == list(range(1, 10))


@pytest.mark.slow
def test_it_is_said_what_the_clusters_are(found):
    assert found["words"] == "The clusters are near each other, as asked for."
    assert found["diagnosis"]
    assert found["summary"] == 3


@pytest.mark.slow
def test_a_saved_model_predicts_the_same_and_is_updated(found):
    assert found["loaded"] == found["labels"]
    assert found["updated"] == 3


@pytest.mark.slow
def test_a_package_without_the_file_refuses_the_saved_model(found, folder):
    with pytest.raises(ModelFileError, match=r"'average', which is not one of compact, connected"):
        load(folder / "saved.cohirf")


@pytest.mark.slow
def test_batches_and_chosen_numbers_end_in_such_clusters(found):
    assert found["batches"] == found["chosen"] == "average"


@pytest.mark.slow
def test_around_means_rows_belong_to_cells(found):
    labels, predicted, words = found["cells"]
    assert labels == predicted
    assert len(set(labels)) == 3
    assert words == "The clusters are near each other, as asked for."


@pytest.mark.slow
def test_auto_compares_it_if_it_has_a_place(found):
    n_cuts, is_compared, words = found["auto"]
    assert n_cuts == 4
    assert is_compared
    assert "average_too" in words
    assert found["asked"]


@pytest.mark.slow
def test_the_page_names_each_of_the_other_merges(found, folder):
    assert "why-merge" not in (folder / "page.html").read_text(encoding="utf-8")
    page = (folder / "page_of_all.html").read_text(encoding="utf-8")
    [paragraph] = [line for line in page.splitlines() if 'id="why-merge"' in line]
    others = [
        name for name in (*MERGES, "average_too") if f'<code>merge="{name}"</code>' in paragraph
    ]
    assert len(others) == 3


@pytest.mark.slow
def test_the_program_takes_it(folder):
    shown = run(folder, "from cohirf.app.cli import main; main(['fit', '--help'])")
    assert set(FILES) < set(re.findall(r"\w+", shown))
    np.savetxt(folder / "X.csv", three_clusters(), delimiter=",", header="a,b", comments="")
    options = ["--clusters", "3", "--merge", "average", "--model", "of_program.cohirf", "--quiet"]
    run(folder, f"from cohirf.app.cli import main; main({['fit', 'X.csv', *options]})")
    read = "from cohirf import load; print(load('of_program.cohirf').choice_.merge)"
    assert run(folder, read) == "average\n"


def test_every_file_of_the_folder_is_a_merge_with_a_criterion():
    files = {path.stem for path in Path(merges.__file__).parent.glob("[a-z]*.py")}
    assert files == set(merges.NAMES)
    assert {criterion_of(name).name for name in merges.NAMES} == files


def test_an_unknown_merge_of_a_fit_is_an_error():
    with pytest.raises(ValueError, match="'merge' parameter of CoHiRF must be a str among"):
        CoHiRF(n_clusters=3, merge="spread").fit(three_clusters())
