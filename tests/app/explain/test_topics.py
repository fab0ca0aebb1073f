"""Names of topics, and the page that shows them."""

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

from cohirf import CoHiRF
from cohirf.app.explain import name_topics, write_report
from cohirf.app.explain.topics import score_words, take_texts

SUBJECTS = ["apple", "pear", "plum", "train", "bus", "tram"]
HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "x" * 1_000_000,
    "\N{GRINNING FACE}" * 50,
    "שלום עולם مرحبا",
    "</style></script>{{ 7*7 }}{% raw %}",
    "\x00\ud800\u202e",
]


def make_texts():
    rng = np.random.default_rng(0)
    centres = np.repeat(3 * rng.normal(size=(2, 8)), 3, axis=0) + rng.normal(size=(6, 8))
    own = np.repeat(np.arange(6), 40)
    X = centres[own] + 0.1 * rng.normal(size=(240, 8))
    kind = ["fruit"] * 3 + ["vehicle"] * 3
    return X, [
        f"the {kind[number]} is a {SUBJECTS[number]} {row}" for row, number in enumerate(own)
    ]


X, TEXTS = make_texts()
MODEL = CoHiRF(n_clusters=6, metric="cosine", random_state=0).fit(X)


def test_words_set_topics_apart_and_names_differ_from_siblings_and_parents():
    found = name_topics(MODEL, X, TEXTS, levels=[6, 2])
    coarse, fine = found.topics
    assert {topic.words[0] for topic in coarse} == {"fruit", "vehicle"}
    assert {topic.words[0] for topic in fine} == set(SUBJECTS)
    for topic in coarse:
        children = found.children(topic)
        assert sum(child.size for child in children) == topic.size == 120
        assert len({child.name for child in children} | {topic.name}) == 4
    for topic in fine:
        assert all(topic.words[0] in text for text in topic.texts)
        assert [TEXTS[row] for row in topic.rows] == list(topic.texts)
    assert str(found).splitlines()[0].startswith(("fruit", "vehicle"))
    np.testing.assert_array_equal(found.labels[:, 1], MODEL.hierarchy_.cut(n_clusters=6))


def test_vectors_may_be_a_csr_matrix():
    in_csr = name_topics(MODEL, sparse.csr_array(X), TEXTS, levels=[6, 2])
    dense = name_topics(MODEL, X, TEXTS, levels=[6, 2])
    assert in_csr.topics == dense.topics
    np.testing.assert_allclose(in_csr.places, dense.places, rtol=1e-6)


def test_a_word_of_all_siblings_counts_less_than_one_of_the_topic():
    scores = score_words(np.array([[10.0, 10, 0], [10, 0, 10]]), np.array([0, 0]))
    assert scores[0, 1] > scores[0, 0] > scores[0, 2] == 0


def test_a_callable_names_topics_and_a_second_run_reads_its_cache(tmp_path):
    asked = []

    def name(texts, words):
        asked.append(words)
        if len(asked) == 2:
            raise TimeoutError("busy")
        return f"all about\n{words[0]}"

    found = name_topics(MODEL, X, TEXTS, name=name, cache=tmp_path / "names.json")
    assert sorted(topic.name for topic in found.topics[0]) == sorted(
        f"all about {one}" for one in SUBJECTS
    )
    assert len(asked) == 7
    again = name_topics(MODEL, X, TEXTS, name=name, cache=tmp_path / "names.json")
    assert len(asked) == 7
    assert [topic.name for topic in again.topics[0]] == [topic.name for topic in found.topics[0]]
    assert len(json.loads((tmp_path / "names.json").read_text(encoding="utf-8"))) == 6


def test_a_callable_that_fails_or_reaches_its_limit_costs_names_only():
    def fail(texts, words):
        raise RuntimeError("no\nmodel")

    with pytest.warns(UserWarning, match="failed for 6 topics, .* RuntimeError: no model"):
        found = name_topics(MODEL, X, TEXTS, name=fail)
    assert {topic.name.split(", ")[0] for topic in found.topics[0]} == set(SUBJECTS)
    limited = name_topics(MODEL, X, TEXTS, name=lambda texts, words: "named", max_calls=1)
    assert sum(topic.name == "named" for topic in limited.topics[0]) == 1


def test_names_of_siblings_differ_even_if_the_callable_repeats_itself_or_there_are_no_words():
    same = name_topics(MODEL, X, TEXTS, name=lambda texts, words: "same")
    none = name_topics(MODEL, X, ["!"] * 240, levels=[6, 2])
    for found in (same, none):
        for level in found.topics:
            assert len({(topic.parent, topic.name) for topic in level}) == len(level)


@pytest.mark.parametrize(
    "column", [list, np.array, pd.Series, pa.array, lambda texts: pa.chunked_array([texts])]
)
def test_texts_come_from_any_kind_of_column_and_missing_ones_are_empty(column):
    assert take_texts(column(["a", "b", "c"]), np.array([0, 2])) == ["a", "c"]
    assert take_texts(pd.Series(["a", None, np.nan]), np.arange(3)) == ["a", "", ""]


def test_a_number_of_texts_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="texts has 3 entries, but the data has 240 rows"):
        name_topics(MODEL, X, ["a", "b", "c"])


def test_hostile_texts_do_no_harm_to_the_page(tmp_path):
    texts = [HOSTILE[row % len(HOSTILE)] for row in range(240)]
    path = write_report(
        MODEL, X, tmp_path / "topics.html", texts=texts, levels=[6, 2], title=HOSTILE[0]
    )
    page = path.read_text(encoding="utf-8")
    assert len(page) < 200_000
    body = page[page.index("<body>") : page.rindex("<script>")]
    assert "<script" not in body
    assert re.search(r"<[^>]*\sonerror", body) is None
    assert "{{" in body


def test_the_page_has_topics_of_all_levels_and_no_address(tmp_path):
    found = name_topics(MODEL, X, TEXTS, levels=[6, 2])
    page = write_report(MODEL, X, tmp_path / "topics.html", texts=found).read_text(encoding="utf-8")
    for level in found.topics:
        for topic in level:
            assert f'id="t-{topic.level}-{topic.cluster}"' in page
            assert topic.name in page
    assert "http" not in page.replace("http-equiv", "")
    flat = write_report(MODEL, X, tmp_path / "flat.html", texts=TEXTS).read_text(encoding="utf-8")
    assert flat.count('<article class="card topic') == 6


@pytest.mark.parametrize("as_column", [list, pd.Series, pa.array])
def test_typical_rows_are_shown_as_images_and_broken_ones_are_left_out(tmp_path, as_column):
    from PIL import Image

    file = tmp_path / "red.png"
    Image.new("RGB", (300, 200), "red").save(file)
    found = name_topics(MODEL, X, TEXTS, levels=[6, 2])
    n_typical = sum(len(topic.rows) for level in found.topics for topic in level)
    for images, n_shown in [
        ([file.read_bytes()] * 240, n_typical),
        ([str(file)] * 240, n_typical),
        (HOSTILE * 35, 0),
    ]:
        column = as_column(
            [image.encode(errors="replace") if n_shown == 0 else image for image in images[:240]]
        )
        page = write_report(
            MODEL, X, tmp_path / "topics.html", texts=found, images=column
        ).read_text(encoding="utf-8")
        assert page.count('<img src="data:image/jpeg;base64,') == n_shown
    with pytest.raises(ValueError, match="images has 3 entries, but the data has 240 rows"):
        write_report(MODEL, X, tmp_path / "topics.html", texts=found, images=[b"", b"", b""])
