"""Sections of a report: what they are given, and a new one in one file."""

import html
import re

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.app.explain import report
from cohirf.app.explain.page import render
from cohirf.app.explain.sections import Section
from cohirf.app.explain.study import check_study

TEMPLATE = """{% from "macros.html" import cluster with context %}
<section id="first" tabindex="-1"><h2>First rows</h2><ul>
{% for row in first %}<li>{{ cluster(row.label) }}: <bdi>{{ row.called }}</bdi></li>{% endfor %}
</ul></section>"""


def describe_first(made):
    """Return the first row of each cluster of the fit."""
    sample = made.sample
    found = [np.flatnonzero(sample.labels == label) for label in range(made.model.n_clusters_)]
    return [
        {"label": label, "called": sample.study.name_row(int(sample.rows[rows[0]]))}
        for label, rows in enumerate(found)
    ]


FIRST = Section("first", "First rows", describe_first, template=TEMPLATE, is_shown=bool)


@pytest.fixture
def summarize(monkeypatch):
    """Return a function that summarizes a model, with one more section."""
    monkeypatch.setattr(report, "SECTIONS", (*report.SECTIONS, FIRST))
    return lambda model, X, **about: report.summarize(
        check_study(model, X, None, None, **about), "A title"
    )


def read_section(page, name):
    found = re.search(rf'<section id="{name}".*?</section>', page, re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", found[0])
    return html.unescape(" ".join(text.split()))


def test_a_new_section_is_one_file_with_its_template(summarize):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 9], [0, 9]], random_state=0)
    model = CoHiRF(KMeans(3), random_state=0).fit(X)
    names = [f"<b>{row}" for row in range(60)]
    summary = summarize(model, X, ids=names)
    page = render(summary)
    final = summary["cuts"][summary["final"]]
    for label in range(3):
        first = names[int(np.flatnonzero(model.labels_ == label)[0])]
        name = final["names"][final["labels"].index(label)]
        assert f"{label} {name} : {first}" in read_section(page, "first")
    assert '<a href="#first">First rows</a>' in page


def test_sections_are_listed_in_their_order(summarize):
    X, _ = make_blobs(60, centers=[[0, 0], [9, 9]], random_state=0)
    page = render(summarize(CoHiRF(KMeans(2), random_state=0).fit(X), X))
    listed = re.findall(r'<a href="#([a-z]+)">', page)
    assert [name for name in listed if name in ("compare", "first", "how")] == [
        "compare",
        "first",
        "how",
    ]
    assert [
        name for name in re.findall(r'<section id="([a-z]+)"', page) if name in listed
    ] == listed


def test_a_section_without_content_is_neither_shown_nor_listed(summarize):
    X = 10.0 * np.arange(6).reshape(3, 2)
    summary = summarize(CoHiRF(DBSCAN(0.1), random_state=0).fit(X), X)
    assert summary["first"] == []
    assert summary["history"] is None
    page = render(summary)
    assert 'id="first"' not in page
    assert 'href="#first"' not in page
    assert 'id="history"' not in page


def test_without_script_clusters_have_the_numbers_that_last(summarize):
    X = np.r_[np.zeros((20, 2)), np.full((20, 2), 5.0), np.full((20, 2), 9.0)]
    X += np.random.default_rng(0).normal(scale=0.1, size=X.shape)
    model = CoHiRF(DBSCAN(1.0), random_state=0).fit(X).forget(np.arange(20))
    page = render(summarize(model, X[20:]))
    table = re.search(r"<noscript>.*?</noscript>", page, re.DOTALL)[0]
    numbers = re.findall(r'<span class="badge [^"]*">(\d+)</span>', table)
    assert sorted(map(int, numbers)) == model.cluster_numbers_.tolist() == [1, 2]
    assert read_section(page, "first").split()[2] == "1"
