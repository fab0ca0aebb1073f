"""What the program says of a table, computed again from its file."""

import csv
import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from cohirf.app.cli import main
from cohirf.app.preparation import prepare

FEWEST = 3  # tables of the quick test; the slow one has all
MANY = 200
OPPOSITE = {"above": "below", "below": "above"}
WORDS = {"yes": "no", "ja": "nein", "TRUE": "FALSE", "1": "0", "oui": "non"}


def write_table(seed, path):
    """Write a table of a few groups, with columns of all kinds, gaps, and some without groups."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(40, 250))
    group = rng.integers(rng.integers(1, 6), size=n)
    columns = {}
    for number in range(rng.integers(1, 6)):
        away = rng.uniform(0, 6)
        values = away * rng.normal(size=6)[group] + rng.normal(size=n)
        if rng.random() < 0.3:
            values = np.exp(values)
        columns[f"n{number}"] = [f"{value:.3f}" for value in values]
    for number in range(rng.integers(0, 4)):
        levels = [f"l{level}" for level in range(rng.integers(2, 7))]
        purity = rng.uniform(0, 1)
        own = group % len(levels)
        drawn = np.where(rng.random(n) < purity, own, rng.integers(len(levels), size=n))
        columns[f"c{number}"] = [levels[level] for level in drawn]
    for number in range(rng.integers(0, 3)):
        true = list(WORDS)[rng.integers(len(WORDS))]
        is_true = rng.random(n) < rng.random(6)[group]
        columns[f"b{number}"] = [true if one else WORDS[true] for one in is_true]
    if seed % 3 == 2:  # whole numbers: a score, years, codes, the numbers of pairs of rows
        score = np.clip(np.round(rng.normal(2 * (group % 3), 1)), 0, 5).astype(int)
        columns["score"] = [str(one) for one in score]
        columns["year"] = [str(1990 + row % 30) for row in range(n)]
        columns["code"] = [str(one) for one in rng.choice([1, 2, 3, 5, 9], size=n)]
        columns["pair"] = [str(1 + row // 2) for row in range(n)]
        columns["late"] = [
            f"{value:.2f}" if one else ""
            for one, value in zip(score > 1, rng.random(n), strict=True)
        ]
    if rng.random() < 0.3:
        days = 19_000 + 300 * group + rng.integers(700, size=n)
        columns["d"] = np.array(days, dtype="datetime64[D]").astype(str).tolist()
    for cells in columns.values():
        share = rng.choice([0, 0, 0.05, 0.3])
        for row in np.flatnonzero(rng.random(n) < share):
            cells[row] = ""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))


def fit(folder, seed):
    """Return what the program prints of a table, the cells of the table, and the clusters."""
    write_table(seed, folder / "table.csv")
    out = io.StringIO()
    files = [str(folder / "table.csv"), "--out", str(folder / "labels.csv"), "--force"]
    with redirect_stdout(out), redirect_stderr(io.StringIO()):
        assert main(["fit", *files, "--seed", "0", "--json"]) == 0
    table = pd.read_csv(folder / "table.csv", dtype=str, keep_default_na=False)
    labels = pd.read_csv(folder / "labels.csv")["cluster"].to_numpy()
    return json.loads(out.getvalue()), table, labels


def numbers_of(cells):
    """Return the cells of a column as numbers, or as days; NaN where they are empty."""
    if cells.str.fullmatch(r"\d{4}-\d\d-\d\d|").all():
        days = pd.to_datetime(cells.where(cells != ""), format="%Y-%m-%d")
        return (days - pd.Timestamp(0)).dt.days.to_numpy(dtype=float)
    return pd.to_numeric(cells.where(cells != "")).to_numpy(dtype=float)


def is_boolean(cells):
    return set(cells) - {""} in [{true, false} for true, false in WORDS.items()]


def marks_of(cells, levels):
    """Return 1 for rows with some levels and 0 for others; a missing boolean is NaN."""
    told = cells.where(cells != "", "missing")
    marks = told.isin(levels).to_numpy(dtype=float)
    if is_boolean(cells):
        marks[cells == ""] = np.nan
    return marks


def is_category(cells):
    return not cells.str.fullmatch(r"-?[\d.]+|\d{4}-\d\d-\d\d|").all() or is_boolean(cells)


def features_of(table):
    """Return all columns of numbers, and a column of marks for each level."""
    found = {}
    for name, cells in table.items():
        if not is_category(cells):
            found[name] = numbers_of(cells)
            continue
        levels = (
            set(cells) - {""} if is_boolean(cells) else set(cells.where(cells != "", "missing"))
        )
        found |= {(name, level): marks_of(cells, [level]) for level in levels}
    return found


def figure_in(words):
    """Return the number that the words name, and its unit in the last digit; None without one."""
    found = re.search(r"(?:mean |: )?(-?[\d,.]+)(?:\)| on average| and)", words)
    return None if found is None else float(found[1].replace(",", ""))


def check(fact, table, labels, features=None):
    """Compute a fact again from the table, or from the features that were fitted."""
    is_here = np.isin(labels, fact["clusters"])
    words, value = fact["words"], fact["value"]
    if fact["statistic"] == "rows":
        assert value == is_here.sum()
        assert words.startswith(f"{int(value):,} row")
    elif fact["statistic"] in ("level tells cluster", "cluster tells level"):
        check_told(fact, table, labels)
    elif fact["statistic"] == "missing":
        check_missing(fact, table, is_here)
    elif fact["statistic"] == "adjusted Rand index":
        combined = table[fact["columns"]].agg("|".join, axis=1)
        is_in = labels >= 0
        assert adjusted_rand_score(combined[is_in], labels[is_in]) == pytest.approx(value)
        assert value >= 0.85
        is_same = value == 1 and combined.nunique() == len(np.unique(labels[is_in]))
        assert ("nearly" in words) == (not is_same)
        assert fact["other"] == combined.nunique()
        if said := re.search(r"the (\d+) ", words):
            assert int(said[1]) == combined.nunique() == len(np.unique(labels[labels >= 0]))
    elif fact["statistic"] == "between":
        assert words.startswith("Without ") == bool(fact["columns"])
        check_between(words, value, share_between(features, labels))
    elif fact["statistic"] == "density between":
        assert value == pytest.approx(density_between(features, labels))
        assert ("no gap" in words) == (value > 0.7)
        assert ("clearly apart" not in words) or value <= 0.3
    elif fact["statistic"] == "density at border":
        assert value == pytest.approx(density_at_border(features, labels))
        assert "no gap" not in words
        assert ("clearly apart" not in words) or value <= 0.3
    elif fact["statistic"] in ("slices", "along one line", "different rows", "formulas"):
        check_whole(fact, table, labels, features)
    else:
        check_values(fact, table, labels, is_here)


def check_missing(fact, table, is_here):
    """Check in which share of the rows of a cluster some columns have no cell."""
    is_missing = (table[fact["columns"]] == "").all(axis=1).to_numpy()
    assert fact["value"] == pytest.approx(is_missing[is_here].mean())
    assert f"of the {is_here.sum():,} rows" in fact["words"]
    for name in fact["columns"]:
        assert (table[name][is_here] == "").mean() >= 0.9
        assert (table[name][~is_here] == "").mean() <= 0.1


def check_whole(fact, table, labels, features):
    """Check what is said of all rows: slices, a line, and how many of them differ."""
    words, value = fact["words"], fact["value"]
    n_clusters = len(np.unique(labels[labels >= 0]))
    if fact["statistic"] == "slices":
        assert value == n_clusters
        assert words == f"these {n_clusters} slices are one way to sort them"
    elif fact["statistic"] == "along one line":
        spread = np.linalg.svd(features - features.mean(axis=0), compute_uv=False) ** 2
        assert value == pytest.approx(spread[0] / spread.sum(), abs=0.02)
        assert value >= 0.9
        assert f"cut here into {n_clusters} pieces" in words or "of their variance" in words
    else:
        cells = table[fact["columns"]]
        assert value == len(cells.drop_duplicates())
        if fact["statistic"] == "formulas":
            assert set(cells.nunique()) == {value}
        else:
            assert ("another combination" in words) == (value == len(table))


def check_told(fact, table, labels):
    """Check in how many rows a level tells the cluster, or a cluster the level."""
    (name,), words, value = fact["columns"], fact["words"], fact["value"]
    told = table[name].where(table[name] != "", "missing")[labels >= 0]
    pairs = pd.crosstab(labels[labels >= 0], told.to_numpy()).to_numpy() / len(told)
    if fact["statistic"] == "cluster tells level":
        pairs = pairs.T
        assert words.endswith(f"of the rows have the commonest {name} of their cluster.")
    else:
        assert words.startswith(f"{name} alone tells the cluster of ")
    assert value == pytest.approx(pairs.max(axis=0).sum())
    assert 1 - value <= 0.2 * (1 - pairs.sum(axis=1).max()) + 1e-9
    said = float(re.search(r"(\d+)% of the rows", words)[1])
    assert "ore than 99%" in words or abs(100 * value - said) <= 0.5 + 1e-9


def nearness(features, labels):
    """Return the clusters of rows that are not noise, and for each the mean distance of these rows
    to the five nearest rows there that differ from them.
    """
    clustered = labels >= 0
    points = features[clustered]
    own = labels[clustered]
    distances = {
        number: np.array([mean_of_nearest(points[own == number], point) for point in points])
        for number in np.unique(own)
    }
    return own, distances


def share_between(features, labels):
    """Return the share of rows whose five nearest rows of another cluster are nearly as near as
    those of their own.
    """
    return np.mean(is_between(*nearness(features, labels)))


def is_between(own, near):
    to_own = np.array([near[number][row] for row, number in enumerate(own)])
    to_others = np.array(
        [
            np.nanmin([np.inf, *(near[other][row] for other in near if other != number)])
            for row, number in enumerate(own)
        ]
    )
    return to_own >= 0.8 * to_others  # a row that is alone in its cluster is not between two


def mean_of_nearest(points, point):
    away = np.linalg.norm(points - point, axis=1)
    away = np.sort(away[(points != point).any(axis=1)])
    return away[:5].mean() if len(away) else np.nan


def density_at_border(features, labels):
    """Return how near the neighbours of a median row are, compared with those of a median row
    between two clusters; the highest of all clusters.
    """
    own, near = nearness(features, labels)
    between = is_between(own, near)
    found = [0.0]
    for number in np.unique(own[between]):
        at_border = near[number][between & (own == number)]
        found.append(np.nanmedian(near[number][own == number]) / np.median(at_border))
    return max(found)


def density_between(features, labels):
    """Return how dense rows are where they are sparsest between two centres; the highest of all
    clusters and the one that is nearest to each.
    """
    numbers = np.unique(labels[labels >= 0])
    centres = {number: features[labels == number].mean(axis=0) for number in numbers}
    found = []
    for one in numbers:
        others = [other for other in numbers if other != one]
        other = min(others, key=lambda other: np.linalg.norm(centres[other] - centres[one]))
        way = centres[other] - centres[one]
        rows = features[np.isin(labels, [one, other])]
        at = (rows - centres[one]) @ way / (way @ way)
        window = max(0.1, median_step(at) / 2)
        counts = [np.sum(abs(at - stop / 10) < window) for stop in range(11)]
        if min(counts[0], counts[-1]) >= 5:
            found.append(min(counts[1:-1]) / min(counts[0], counts[-1]))
    return max(found)


def median_step(at):
    """Return the median over rows of the distance to the next place of another row."""
    places = np.unique(at.round(9))
    if len(places) < 3:
        return 0.0
    steps = [np.min(np.abs(places - place)[places != place]) for place in at.round(9)]
    return np.sort(steps)[(len(steps) - 1) // 2]


def check_between(words, value, share):
    """Check what is said of the share of the rows between two clusters."""
    assert value == pytest.approx(share)
    if "There is no gap" in words:
        return  # its density is a fact of its own
    if "ess than 1% of the rows are between" in words:
        assert 0 < share < 0.01
    elif "ore than 99% of the rows are between" in words:
        assert 0.99 < share < 1
    elif said := re.search(r"(\d+)% of the rows are between", words):
        assert abs(100 * share - float(said[1])) <= 0.5 + 1e-9
    else:
        assert share == 0
        assert re.search(r"[Nn]o rows are between", words)
    if "apart" in words:
        assert share <= 0.02
    elif "touch" in words:
        assert share <= 0.2
    elif "overlap" in words:
        assert 0.2 < share <= 0.4
    elif "not separate" in words:
        assert share > 0.4


def check_values(fact, table, labels, is_here):
    """Compute the mean or the share of a fact again, and what is said of it."""
    (name,), words, value = fact["columns"], fact["words"], fact["value"]
    if fact["statistic"] == "share":
        values = marks_of(table[name], fact["levels"])
    else:
        values = without_far(numbers_of(table[name]), labels)
    inside = np.nanmean(values[is_here])
    assert value == pytest.approx(inside)
    if fact["statistic"] == "own value":
        assert (np.isclose(values, value) == is_here).all()
        assert float(words.rpartition(": ")[2].replace(",", "")) == pytest.approx(value, rel=0.006)
        return
    if "average" not in words or fact["relation"] == "most different":
        assert np.mean(~np.isnan(values[is_here])) >= 0.8
    if fact["statistic"] == "share" and fact["relation"] == "is":
        check_share(words, fact["levels"], inside)
        return
    deviation = np.nanstd(values)
    if fact["relation"] == "most different":
        other = np.nanmean(values[np.isin(labels, fact["compared_with"])])
        assert fact["other"] == pytest.approx(other)
        assert abs(inside - other) / deviation == pytest.approx(most_different(table, labels))
        return
    away = (inside - np.nanmean(values[~is_here])) / deviation
    if fact["relation"] == "above":
        assert away >= 0.3
    elif fact["relation"] == "below":
        assert away <= -0.3
    elif fact["relation"] == "near":
        assert abs(away) < 0.8
        check_middle(inside, values, labels, deviation)
    figure = figure_in(words)
    if figure is not None and not name.startswith("d"):
        assert figure == pytest.approx(inside, rel=0.006)


def without_far(values, labels):
    """Return numbers without those of noise that are far from those of all clusters."""
    inside = values[labels >= 0]
    if len(np.unique(labels[labels >= 0])) < 2:
        return values
    low, high = np.nanmin(inside), np.nanmax(inside)
    is_far = (values < low - 3 * (high - low)) | (values > high + 3 * (high - low))
    return np.where(is_far & (labels < 0), np.nan, values)


def check_middle(mean, values, labels, deviation):
    """Check that a mean is between the lowest and the highest one, and near neither."""
    numbers = np.unique(labels[labels >= 0])
    means = [
        np.nanmean(values[labels == number])
        for number in numbers
        if np.mean(~np.isnan(values[labels == number])) >= 0.8
    ]
    apart = max(0.3 * deviation, 0.25 * (max(means) - min(means))) - 1e-9
    assert min(means) + apart <= mean <= max(means) - apart


def check_share(words, levels, share):
    said = words.partition(": ")[2]
    if found := re.search(r"(\d+)%", said):
        is_of_levels = any(level in said for level in levels)
        shown = share if is_of_levels else 1 - share
        assert "than" in said or abs(float(found[1]) - 100 * shown) <= 0.5 + 1e-9
    elif said.startswith("not "):
        assert share <= 0.1
    elif said.startswith("rarely "):
        assert share < 0.5
    elif any(level in said for level in levels):
        assert share >= 0.9
    else:  # the other word of a boolean
        assert share <= 0.1


def most_different(table, labels):
    """Return the largest difference of two clusters, in standard deviations."""
    one, other = np.unique(labels[labels >= 0])
    features = {
        name: values if isinstance(name, tuple) else without_far(values, labels)
        for name, values in features_of(table).items()
    }
    with np.errstate(all="ignore"):
        found = [
            abs(np.nanmean(values[labels == one]) - np.nanmean(values[labels == other]))
            / np.nanstd(values)
            for values in features.values()
            if np.nanstd(values) > 0
            and np.mean(~np.isnan(values[labels == one])) >= 0.8
            and np.mean(~np.isnan(values[labels == other])) >= 0.8
        ]
    return max(found)


def features_without(folder, fact):
    """Return the features that were fitted, without those of the columns of a fact on separation.

    What was fitted has another scale if columns are dropped: features are left out, not columns.
    """
    prepared = prepare(folder / "table.csv")
    is_separation = "between" in fact["statistic"] or "border" in fact["statistic"]
    left_out = fact["columns"] if is_separation else []
    kept = [one.column not in left_out for one in prepared.preparation.features]
    return prepared.array()[:, kept]


def check_table(folder, seed):
    document, table, labels = fit(folder, seed)
    for fact in document["facts"]:
        check(fact, table, labels, features_without(folder, fact))
        assert fact["words"] in document["headline"]
    if "between two" in document["headline"]:
        assert "between" in {fact["statistic"] for fact in document["facts"]}
    for number, name in zip(document["numbers"], document["names"], strict=True):
        facts = [
            fact["words"]
            for fact in document["facts"]
            if fact["clusters"] == [number]
            and fact["relation"] != "most different"
            and fact["statistic"] != "missing"
        ]
        if facts:  # all that the opening says of the cluster are facts
            said = ", ".join(dict.fromkeys(facts[1:]))
            assert re.sub(r" \(\d+\)$", "", name) == re.sub(r" \(\d+\)$", "", said) or not said
            assert f"{facts[0]}: {name}." in document["headline"]
    return document


@pytest.mark.parametrize("seed", range(FEWEST))
def test_all_that_is_said_of_a_table_is_true_of_its_cells(tmp_path, seed):
    assert check_table(tmp_path, seed)["clusters"] >= 1


@pytest.mark.slow
def test_all_that_is_said_of_many_tables_is_true_of_their_cells(tmp_path):
    kinds = set()
    for seed in range(FEWEST, MANY):
        facts = check_table(tmp_path, seed)["facts"]
        kinds |= {(fact["statistic"], fact["relation"]) for fact in facts}
    statistics = {"rows", "mean", "share", "between", "density between", "adjusted Rand index"}
    assert {one for one, _ in kinds} >= statistics
    assert {one for _, one in kinds} == {"is", "above", "below", "near", "most different"}


@pytest.mark.parametrize("seed", [1, 3])
def test_a_fact_that_is_not_true_is_found(tmp_path, seed):
    document, table, labels = fit(tmp_path, seed)
    assert len(document["facts"]) > 3
    for fact in document["facts"]:
        features = features_without(tmp_path, fact)
        with pytest.raises(AssertionError):
            check({**fact, "value": fact["value"] + 1}, table, labels, features)
        if fact["relation"] in OPPOSITE:
            with pytest.raises(AssertionError):
                check({**fact, "relation": OPPOSITE[fact["relation"]]}, table, labels)
