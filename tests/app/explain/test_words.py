"""Words: text that fits, phrases, and names of clusters that differ."""

import numpy as np
import pandas as pd
import pytest

from cohirf.app.explain.effects import find_traits
from cohirf.app.explain.policy import WORD
from cohirf.app.explain.table import Feature, read_table
from cohirf.app.explain.words import (
    clean,
    name_clusters,
    plain_name,
    say_level,
    say_number,
    say_value,
    shorten,
    split_number,
)
from cohirf.wording import count_of, percent


def test_text_of_any_length_fits_a_line():
    assert len(shorten("name " * 10_000)) <= WORD.text
    assert shorten("a\n b\t c") == "a b c"


def test_short_text_stays_as_it_is():
    assert (
        shorten("petal length (cm) \N{GREEK SMALL LETTER MU}")
        == "petal length (cm) \N{GREEK SMALL LETTER MU}"
    )


def test_halves_of_characters_can_be_written():
    assert clean("a\ud800b").encode() == b"a?b"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (say_number("age", "number", is_high=True), "older"),
        (say_number("petal length", "number", is_high=False), "short petal"),
        (say_number("tenure", "number", is_high=True), "long tenure"),
        (say_number("tenure years", "number", is_high=True), "high tenure years"),
        (say_number("signup", "date", is_high=False), "early signup"),
        (say_number(plain_name("age (2)"), "number", is_high=True), "high age (2)"),
        (plain_name("petal length (cm)"), "petal length"),
        (say_level(Feature("region", "level", "north"), 0.9, 0.2), "region: north"),
        (say_level(Feature("region", "level", "north"), 0.4, 0.2), "region: 40% north"),
        (say_level(Feature("region", "level", "north"), 0.02, 0.5), "region: not north"),
        (say_level(Feature("region", "level", "north"), 0.2, 0.5), "region: rarely north"),
        (
            say_level(Feature("member", "level", "ja", opposite="nein"), 0.2, 0.5),
            "member: 80% nein",
        ),
        (say_level(Feature("member", "level", "ja", opposite="nein"), 0.05, 0.5), "member: nein"),
        (plain_name("flipper_length_mm"), "flipper length"),
        (plain_name("m"), "m"),
        (say_value(0.012345), "0.0123"),
        (say_value(45123.4), "45,123"),
        (say_value(1.0004e8), "100,000,000"),
        (say_value(0.25, "level"), "25%"),
        (say_value(19000, "date"), "2022-01-08"),
        (percent(0.001), "less than 1%"),
        (percent(1e-17), "0%"),
        (percent(1 - 1e-15), "100%"),
        (percent(0.253), "25%"),
        (percent(0.9999), "more than 99%"),
        (percent(1), "100%"),
        (count_of(1, "row"), "1 row"),
        (count_of(2000, "row"), "2,000 rows"),
        (shorten("a name over two\nlines", 12), "a name over\N{HORIZONTAL ELLIPSIS}"),
    ],
)
def test_phrases_values_and_counts(said, expected):
    assert said == expected


def test_what_is_no_text_is_written_as_such():
    assert shorten(3.5) == "3.5"
    assert shorten(None) == "None"


def names_of(frame, labels):
    labels = np.asarray(labels)
    table = read_table(frame, np.arange(len(labels)))
    return name_clusters(find_traits(table, labels, np.unique(labels)))


def test_names_say_what_sets_clusters_apart():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    frame = pd.DataFrame(
        {
            "age": rng.normal([65, 30, 30], 2, (100, 3)).T.ravel(),
            "tenure": rng.normal([9, 2, 2], 0.5, (100, 3)).T.ravel(),
            "spend": rng.normal([50, 300, 60], 10, (100, 3)).T.ravel(),
            "region": np.repeat(["south", "south", "north"], 100),
        }
    )
    assert names_of(frame, labels) == [
        "older, long tenure, low spend, region: south",
        "high spend, region: south, younger",
        "region: north, short tenure, younger",
    ]


def test_a_cluster_between_others_is_medium():
    x = np.concatenate([np.linspace(0, 1, 50), np.linspace(5, 6, 50), np.linspace(10, 11, 50)])
    assert names_of(pd.DataFrame({"x": x}), np.repeat([0, 1, 2], 50)) == [
        "low x",
        "medium x",
        "high x",
    ]


def test_a_feature_that_is_nearly_always_zero_is_not_medium():
    x = np.zeros(200)
    x[::50] = 1.5  # neither 0 nor 1: a number
    y = np.repeat([0.0, 1.5, 3.0, 9.0], 50)
    frame = pd.DataFrame({"x": np.where(np.arange(200) < 50, 0, x), "y": y})
    assert "medium x" not in " ".join(names_of(frame, np.repeat([0, 1, 2, 3], 50)))


def test_many_clusters_in_two_features_have_different_names():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.random((200, 2)), 5, axis=0) + rng.normal(size=(1000, 2)) * 1e-4
    names = names_of(X, np.repeat(np.arange(200), 5))
    assert len(set(names)) == 200


def test_clusters_that_do_not_differ_are_numbered():
    assert names_of(np.ones((6, 2)), [0, 0, 1, 1, 2, 2]) == [
        "average",
        "average (2)",
        "average (3)",
    ]


def test_a_single_cluster_is_all_rows():
    assert names_of(np.arange(6.0).reshape(3, 2), [0, 0, 0]) == ["all rows"]


def test_no_clusters_have_no_names():
    assert name_clusters([]) == []


def test_names_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4))
    labels = rng.integers(0, 6, 300)
    X[labels == 2, 1] += 3
    order = rng.permutation(300)
    assert names_of(X, labels) == names_of(X[order], labels[order])


def test_neighbours_in_a_series_are_summed_up():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 50)
    years = {f"rate_{year}": rng.normal(size=150) for year in (1968, 1969, 1971, 1970, 1972, 1973)}
    for year in (1969, 1970, 1971):
        years[f"rate_{year}"] += np.where(labels == 1, 4.0, 0.0)
    years["rate_1973"] -= np.where(labels == 2, 4.0, 0.0)
    names = names_of(
        pd.DataFrame(years | {"size": np.where(labels == 1, 5.0, rng.normal(size=150))}), labels
    )
    assert sorted(names[1].split(", ")) == ["high rate 1969 to 1971", "size: 5"]
    assert names[2].startswith("low rate 1973")


def test_columns_without_names_are_no_series():
    X = np.random.default_rng(0).normal(size=(100, 4))
    X[:50] += 5
    assert names_of(X, np.repeat([0, 1], 50))[0].count("high feature") == 3


def test_a_second_column_of_the_same_name_keeps_its_number():
    X = pd.DataFrame({"age": [20.0, 21, 60, 61], "age (2)": [9.0, 8, 2, 1]})
    assert sorted(phrase for name in names_of(X, [0, 0, 1, 1]) for phrase in name.split(", ")) == [
        "high age (2)",
        "low age (2)",
        "older",
        "younger",
    ]


def test_series_are_told_from_names():
    assert [split_number(name) for name in ("1969", "sales_12", "age", "age (2)", "q1 pct")] == [
        ("", "1969"),
        ("sales", "12"),
        ("age", ""),
        ("age (2)", ""),
        ("q", "1"),
    ]


def test_a_name_that_another_one_contains_gets_more_words():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 100)
    frame = pd.DataFrame(
        {
            "year": rng.normal([9, 9, 1], 0.5, (100, 3)).T.ravel(),
            "income": rng.normal([1, 9, 1], 0.5, (100, 3)).T.ravel(),
            "height": rng.normal([1, 2, 1], 2, (100, 3)).T.ravel(),
        }
    )
    first, second, _ = ({*name.split(", ")} for name in names_of(frame, labels))
    assert not first <= second
