"""Whether the clusters can be trusted: in one line after a fit, and the same in info and in the
report.
"""

import html
import json
from pathlib import Path

import numpy as np
import pytest

FIT = ("fit", "iris.csv", "--label-column", "species", "--drop", "id")


def read_line(outcome):
    """Return the line before the last one, which says what was written."""
    return outcome.out.splitlines()[-2]


@pytest.mark.parametrize(
    "method",
    [
        ("--estimator", "agglomerative", "--clusters", "3"),
        ("--param", "n_clusters=8", "--clusters", "levels"),
        ("--estimator", "dbscan", "--param", "eps=0.5", "--batch-size", "40"),
    ],
)
def test_fit_info_and_report_say_the_same(cohirf, folder, method):
    fitted = cohirf(*FIT, *method, "--model", "m", "--report", "r.html", "--json")
    assert fitted.code == 0
    line = json.loads(fitted.out)["verdict"]["line"]
    assert line.startswith(("Trust these clusters", "Do not trust", "Whether "))
    assert json.loads(cohirf("info", "m", "--json").out)["diagnosis"]["line"] == line
    assert line in html.unescape(Path("r.html").read_text(encoding="utf-8"))
    assert cohirf("report", "m", "iris.csv", "--out", "again.html").code == 0
    assert line in html.unescape(Path("again.html").read_text(encoding="utf-8"))


def test_the_document_has_the_verdict(cohirf, folder):
    document = json.loads(
        cohirf(*FIT, "--estimator", "agglomerative", "--clusters", "3", "--json").out
    )
    assert document["verdict"]["recommendation"] == "either"
    assert document["verdict"]["line"].startswith(
        "Trust these clusters as you would trust AgglomerativeClustering"
    )


def test_useless_clusters_are_a_warning_in_words_of_options(cohirf, folder):
    outcome = cohirf(*FIT, "--clusters", "3", "--min-cluster-size", "120")
    warning = "All of the rows are noise: lower --min-cluster-size 120."
    assert f"\nwarning: {warning}\n" in outcome.err
    assert (
        read_line(outcome)
        == "No clusters: all 150 rows are noise. To find some, lower --min-cluster-size 120."
    )


def test_small_clusters_are_a_warning_that_names_the_command(cohirf, tmp_path):
    far = np.vstack([np.random.default_rng(0).normal(size=(5_000, 2)), [[50.0, 50.0]]])
    np.save(tmp_path / "far.npy", far)
    outcome = cohirf(
        "fit", str(tmp_path / "far.npy"), "--estimator", "agglomerative", "--clusters", "2"
    )
    assert "become noise; cohirf cut with fewer clusters merges them." in outcome.err


def test_a_fit_ends_with_the_headline(cohirf, folder):
    outcome = cohirf(*FIT, "--estimator", "agglomerative", "--clusters", "3")
    assert read_line(outcome).startswith("3 clusters in 150 rows. 64 rows (43%): ")
    assert read_line(outcome).endswith("it finds the same clusters alone.")
