"""What a column is, decided from its cells."""

import datetime
import json
import re
import warnings

import numpy as np
import pandas as pd
import pytest

from cohirf.app.preparation import DataError, Preparation, prepare
from cohirf.app.preparation.policy import DECISION, READING, SCALE

RNG = np.random.default_rng(0)
N = 200
X = RNG.normal(size=N)


def decide(cells, name="column", **options):
    """Return what is decided for a column of a table beside a column of numbers."""
    frame = pd.DataFrame({name: cells})
    frame["beside"] = np.resize(X, len(frame))
    return prepare(frame, **options).preparation.describe()[0]


def kind_of(cells, name="column", **options):
    return decide(cells, name, **options).kind


LEVELS = RNG.choice(["red", "green", "blue"], N)


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (X, "number"),
        (X.astype(str), "number"),
        ([f"{value:.2f}".replace(".", ",") for value in X], "number"),
        ([f"€{value:,.2f}" for value in 1e4 * X], "number"),
        ([f"{value:.1f}%" for value in X], "number"),
        ([f"{value:.1f} kg" for value in X], "number"),
        (RNG.integers(5, size=N), "number"),
        (X > 0, "boolean"),
        (np.where(X > 0, "yes", "no"), "boolean"),
        (np.where(X > 0, "Oui", "non"), "boolean"),
        (LEVELS, "category"),
        (pd.Series(LEVELS, dtype="category"), "category"),
        (np.where(X > 0, "yes", "maybe"), "category"),
        (np.where(X > 0, 1, 0), "boolean"),
        (np.where(X > 0, 1.0, np.where(X < -1, np.nan, 0.0)), "boolean"),
        (np.where(X > 0, "1", "0"), "boolean"),
        # versions, not dates
        (
            [f"1.{digit}.{digit % 7}" for digit in RNG.integers(12, size=N)],
            "category",
        ),
        ([f"{day}.3.24" for day in RNG.integers(1, 31, size=N)], "date"),
        ([f"0{digit}" for digit in RNG.integers(20, size=N)], "category"),  # codes, not numbers
        (
            pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(1000, size=N), unit="D"),
            "date",
        ),
        ([datetime.date(2024, 1, 1 + day) for day in RNG.integers(30, size=N)], "date"),
        ([f"{day:02}.03.2024" for day in RNG.integers(1, 31, size=N)], "date"),
        ([f"{hour}:30" for hour in RNG.integers(24, size=N)], "date"),
        ([f"C-{number}" for number in range(N)], "id"),
        (RNG.permutation(N), "id"),
        ([f"{number:05}" for number in range(N)], "id"),
        ([f"{10**22 + number}" for number in range(N)], "id"),
        ([f"order {number} came late and was wrong" for number in range(N)], "text"),
        ([7] * N, "constant"),
        (["France"] * N, "constant"),
        ([None] * N, "empty"),
        ([" ", "NA"] * (N // 2), "empty"),
    ],
)
def test_a_column_is_what_its_cells_are(cells, kind):
    assert kind_of(cells) == kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("customer_id", "id"),
        ("customerId", "id"),
        ("ID", "id"),
        ("id", "id"),
        ("paid", "number"),
        ("idle", "number"),
        ("valid", "number"),
        ("income", "number"),
    ],
)
def test_whole_numbers_are_ids_if_their_name_says_so(name, kind):
    assert kind_of(RNG.choice(10**6, N, replace=False), name) == kind
    assert kind_of(X, name) == "number"


def test_an_id_with_a_stray_is_an_id():
    assert (
        kind_of([*map(str, RNG.choice(10**6, N, replace=False)), "none of them"], "customer_id")
        == "id"
    )
    assert (
        kind_of([*RNG.choice(10**6, N, replace=False).astype(float), None], "customer_id") == "id"
    )


def test_few_whole_numbers_without_gaps_are_numbers():
    assert kind_of(np.arange(19)) == "number"
    assert kind_of(np.arange(20)) == "id"


def test_point_and_comma_are_told_apart_by_other_columns():
    thousands = [f"1,{number:03}" for number in RNG.integers(1000, size=N)]
    decimals = [f"{value:.1f}".replace(".", ",") for value in X]
    alone = prepare(pd.DataFrame({"a": thousands, "b": X}), scaling="none")
    beside = prepare(pd.DataFrame({"a": thousands, "b": decimals}), scaling="none")
    assert alone.array()[0, 0] == int(thousands[0].replace(",", ""))
    assert beside.array()[0, 0] == float(thousands[0].replace(",", "."))
    assert beside.preparation.columns[0].reason == "decimal comma"


def test_doubt_is_told():
    thousands = [f"1,{number:03}" for number in RNG.integers(1000, size=N)]
    assert decide(thousands).note == "commas group digits, as no cell says otherwise"
    assert (
        decide([*thousands, "0.5"]).note
        == decide([f"1.{number:03}" for number in RNG.integers(1000, size=N)]).note
        == ""
    )


def test_days_and_months_are_told_apart_by_all_cells():
    first = ["01/02/2024"] * N
    assert "day before month, as no date says otherwise" in decide([*first, "05/03/2024"]).note
    assert decide([*first, "12/31/2024"]).note == "elapsed days"
    frame = pd.DataFrame({"when": [*first, "12/31/2024"], "x": np.resize(X, N + 1)})
    assert prepare(frame, scaling="none").array()[0, 0] == np.datetime64("2024-01-02").astype(int)


def test_hours_and_weekdays_are_features_where_they_are_unequal():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(700, size=2000), unit="D")
    hours = pd.to_timedelta(RNG.integers(24, size=2000), unit="h")
    late = pd.to_timedelta(RNG.choice([9, 22], size=2000), unit="h")
    work = days - pd.to_timedelta(
        np.where(days.day_of_week >= 5, days.day_of_week - 4, 0), unit="D"
    )
    assert decide(days).note == "elapsed days"
    assert decide(days + hours).note == "elapsed days"
    assert decide(days + late).note == "elapsed days, hour as sine and cosine"
    assert decide(work).note == "elapsed days, weekday as sine and cosine"


def test_days_on_which_nothing_happens_do_not_make_a_weekday_matter():
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(RNG.integers(700, size=2000), unit="D")
    assert decide(days[days.day_of_week < 5]).note == "elapsed days"


def test_hours_turn_in_a_circle():
    frame = pd.DataFrame(
        {"at": ["00:00", "06:00", "12:00", "18:00"] * 30 + ["06:00"] * 100, "x": np.resize(X, 220)}
    )
    prepared = prepare(frame, scaling="none")
    assert prepared.feature_names == ["at: hour (sine)", "at: hour (cosine)", "x"]
    np.testing.assert_allclose(
        prepared.array()[:4, :2], [[0, 1], [1, 0], [0, -1], [-1, 0]], atol=1e-12
    )


def test_rows_of_rare_levels_have_none():
    levels = [f"l{number:02}" for number in range(DECISION.levels) for _ in range(4)] + [
        "rare 1",
        "rare 2",
    ] * 2
    prepared = prepare(pd.DataFrame({"a": levels}), scaling="none")
    assert prepared.feature_names == [f"a=l{number:02}" for number in range(DECISION.levels)]
    assert prepared.array().sum(axis=1).tolist() == [1] * 4 * DECISION.levels + [0] * 4
    new = prepared.preparation.apply(pd.DataFrame({"a": ["never seen", "l00"]}))  # no warning
    assert new.array().sum(axis=1).tolist() == [0, 1]


def test_many_levels_of_which_none_is_frequent_are_left_out():
    assert kind_of([f"town {number}" for number in range(150)] * 2) == "text"


def test_distinct_cells_are_counted_up_to_a_number(monkeypatch):
    cells = [f"n{number}" for number in range(N)]
    assert decide(cells).note.startswith("left out: 200 different values in 200 rows")
    assert decide(cells * 3).note.startswith("left out: 200 levels, none of them frequent")
    monkeypatch.setitem(vars(READING), "counted", 50)
    assert decide(cells).note.startswith("left out: more than 50 different values in 200 rows")


def test_a_single_stray_among_many_is_missing_and_named():
    cells = [*X.astype(str), "x"]
    with pytest.warns(
        UserWarning,
        match="column 'a' has 1 cell that is not a number, which is taken as missing: row",
    ):
        prepared = prepare(pd.DataFrame({"a": cells}), scaling="none")
    assert prepared.array()[-1, 0] == pytest.approx(np.median(X))
    note = prepared.preparation.describe()[0].note
    assert note.startswith("1 cell not a number, filled with the median, ")
    with pytest.warns(UserWarning, match="1 cell that is not a number"):
        prepared = prepare(pd.DataFrame({"a": [*cells, "", ""]}))
    note = prepared.preparation.describe()[0].note
    assert note.startswith("2 cells missing and 1 cell not a number, filled with the median, ")


def test_all_wishes_that_cannot_be_granted_are_told_at_once():
    frame = pd.DataFrame({"age": ["old", "young"] * 5, "when": ["soon", "later"] * 5})
    with pytest.raises(DataError) as caught:
        prepare(frame, kinds={"age": "number", "when": "date"})
    assert str(caught.value).splitlines() == [
        "The table: 2 columns have problems:",
        "column 'age' is not a number: none of its cells can be read as one.",
        "column 'when' is not a date: none of its cells can be read as one.",
    ]


STORIES = ["1Story"] * 50 + ["2Story"] * 30 + ["1.5Fin", "1.5Unf", "SFoyer", "SLvl"] * 5


@pytest.mark.parametrize(
    ("cells", "kind", "said"),
    [
        # what pandas writes of a flag with gaps
        (["0.0", "1.0", None, "1.0"] * 50, "boolean", ""),
        (["1Fam"] * 80 + ["2fmCon", "Duplex", "Twnhs", "TwnhsE"] * 5, "category", ""),
        (STORIES, "category", "'1.5Fin'"),
        (["1. White"] * 80 + ["2. Black", "3. Asian", "4. Other"] * 6, "category", ""),
        (["4", "6", "8", "5"] * 23 + ["rotary"], "number", "'rotary'"),
        ([*(str(number**2 % 89) for number in range(60)), "[98]", "1/2"], "number", "'[98]'"),
        ([f"{a}, {a + 3}, 8" for a in range(40)] + list("12345678"), "id", ""),
        ([*X.astype(str), "1e999"], "number", "'1e999'"),
        ([*X, np.inf], "number", "'inf'"),
        (["yes", "no"] * 40 + ["perhaps"], "category", ""),
        ([{"a": 1}] * N, "other", ""),
        ([1e200, *X], "other", ""),
    ],
)
def test_a_column_never_refuses_a_table(cells, kind, said):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert kind_of(cells) == kind
    assert len(caught) == (said != "")
    assert said in str([str(one.message) for one in caught])


def test_a_column_with_no_value_in_a_whole_block_is_prepared(monkeypatch):
    monkeypatch.setitem(vars(SCALE), "block_bytes", 1600)
    late = np.where(np.arange(N) < N / 2, np.nan, 5 + X)
    early = late[::-1]
    learned = prepare(pd.DataFrame({"late": late, "early": early, "x": X})).preparation
    known = (5 + X)[N // 2 :]
    np.testing.assert_allclose(learned.offset, [known.mean(), known.mean(), X.mean()])
    # a column half of which is missing has less weight
    weight = np.array([0.5 / 0.8, 0.5 / 0.8, 1.0]) ** 2
    np.testing.assert_allclose(learned.scale * weight, [known.std(), known.std(), X.std()])


def test_all_that_cannot_be_read_as_it_seems_is_said_with_a_remedy():
    frame = pd.DataFrame({"style": STORIES, "x": np.resize(X, len(STORIES))})
    said = (
        "The table: column 'style' has 80 of 100 cells that are numbers with 'Story', and others "
        "such as '1.5Fin': it is taken as a category; give kinds={'style': 'number'} to take the "
        "others as missing."
    )
    with pytest.warns(UserWarning, match=re.escape(said)):
        prepare(frame)
    frame["style"] = [*["1"] * 20, *frame["style"][20:]]
    n_with = frame["style"].str.fullmatch(r"\d+Story").sum()
    n_read = n_with + 20
    assert 50 < n_with < n_read < 90
    said = f"has {n_read} of 100 cells that are numbers, {n_with} of them with 'Story', and others"
    with pytest.warns(UserWarning, match=re.escape(said)):
        prepare(frame)
    levels = np.where(RNG.random(N) < 0.8, "0_no", "1_yes")  # one number has each unit
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert (
            prepare(pd.DataFrame({"x": X, "sod": levels})).preparation.columns[1].reason
            == "2 levels"
        )


@pytest.mark.parametrize(
    ("cells", "wish", "kind"),
    [
        (RNG.integers(3, size=N), "category", "category"),
        (["20240101", "20240215"] * 100, "date", "date"),
        (["01/02/2024", "02/02/2024"] * 100, "date:%m/%d/%Y", "date"),
        (["0123", "0456"] * 100, "number", "number"),
        (["0", "1"] * 100, "boolean", "boolean"),
        ([0, 1.0] * 100, "boolean", "boolean"),
        ([0.5, 1.5, None, 1.5] * 50, "category", "category"),
        (pd.to_datetime(["2024-01-01", "2024-02-01"] * 100), "category", "category"),
        (["yes", "no"] * 100, "category", "category"),
        (X, "id", "id"),
        (LEVELS, "text", "text"),
    ],
)
def test_the_user_may_say_what_a_column_is(cells, wish, kind):
    note = decide(cells, kinds={"column": wish})
    assert note.kind == kind
    assert "as you asked" in note.note


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (np.arange(N), "number"),
        ([7] * N, "number"),
        ([f"C{number}" for number in range(N)], "category"),
        ([f"{number:05}" for number in range(N)], "category"),
    ],
)
def test_the_user_may_keep_a_column(cells, kind):
    assert kind_of(cells, kinds={"column": kind}) == kind


@pytest.mark.parametrize(
    ("before", "names"), [({}, "name"), ({"row": range(1, N + 1)}, "name"), ({"key": X}, "name")]
)
def test_the_first_id_with_words_names_the_rows(before, names):
    words = {"name": [f"n{i}" for i in range(N)], "other": [f"o{i}" for i in range(N)]}
    prepared = prepare(pd.DataFrame({**before, "x": X, **words}))
    assert prepared.preparation.id_column == names
    assert next(prepared.ids()).to_pylist()[:2] == ["n0", "n1"]


def test_a_counter_names_the_rows_if_nothing_else_does():
    frame = pd.DataFrame({"x": X, "row": np.arange(N), "y": RNG.normal(size=N)})
    assert prepare(frame).preparation.id_column == "row"


def test_a_counter_without_a_name_calls_rows_by_their_number():
    frame = pd.DataFrame({"column 1": np.arange(1, N + 1), "x": X})  # as a CSV file without a name
    assert prepare(frame).name_rows([3]) == ["row 4"]
    assert prepare(frame.rename(columns={"column 1": "plot"})).name_rows([3]) == ["plot 4"]


def test_numbers_that_grow_nearly_steadily_are_measured():
    population = 198_712 + np.cumsum(RNG.integers(150, 250, N)) / 10
    assert prepare(pd.DataFrame({"x": X, "pop": population})).feature_names == ["x", "pop"]


def test_ids_with_gaps_are_no_numbers():
    rising = np.cumsum(RNG.integers(1, 400, N))
    frame = pd.DataFrame({"case": rising, "x": X})
    first, _ = prepare(frame).preparation.describe()
    assert first.note == "left out: rises from row to row, as ids do; names the rows"
    # behind other columns, such numbers may be measured
    assert prepare(frame[["x", "case"]]).preparation.describe()[1].kind == "number"


@pytest.mark.parametrize(
    "cells",
    [
        pd.date_range("2020-01-01", periods=N, freq="D"),
        pd.date_range("2020-01-01", periods=N, freq="MS")[::-1],
        pd.bdate_range("2020-01-01", periods=N).strftime("%d.%m.%Y"),
        1949 + np.arange(N) / 12,
        10 * np.arange(N),
    ],
)
def test_dates_and_numbers_in_equal_steps_count_rows_and_are_no_feature(cells):
    frame = pd.DataFrame({"x": X, "at": cells})
    prepared = prepare(frame)
    assert prepared.feature_names == ["x"]
    assert "counts the rows" in prepared.preparation.describe()[1].note
    again = prepare(
        frame, kinds={"at": "number" if np.asarray(cells).dtype.kind in "if" else "date"}
    )
    assert again.feature_names[:2] == ["x", "at"]


@pytest.mark.parametrize("name", ["zip", "ZIP_code", "plz", "PostalCode", "phone"])
@pytest.mark.parametrize("as_type", [int, float, str])
def test_codes_are_no_numbers(name, as_type):
    codes = [as_type(code) for code in RNG.choice([10115, 80331, 20095], N)]
    assert kind_of(codes, name) == "category"
    assert kind_of([as_type(10_000 + 7 * number) for number in range(N)], name) == "id"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *(("county", "category"), ("birth.state", "category"), ("iso_num", "category")),
        *(("cowcode", "category"), ("SchoolDistrict", "category"), ("race2", "category")),
        *(("counties", "number"), ("n_county", "number"), ("district_size", "number")),
        *(("MPG.city", "number"), ("home city", "category"), ("horses.region", "number")),
        *(("years.in.city", "number"), ("mean_state", "number"), ("racetime", "number")),
    ],
)
@pytest.mark.parametrize("as_type", [int, float, str])
def test_whole_numbers_that_say_which_of_many_things_are_codes(name, kind, as_type):
    cells = [as_type(code) for code in RNG.choice([11, 23, 35, 40, 77], N)]
    assert kind_of(cells, name) == kind
    assert kind_of(cells, name, kinds={name: "number"}) == "number"
    assert kind_of(X, name) == "number"


def test_codes_of_many_things_none_of_which_is_frequent_are_left_out():
    schools = np.repeat(RNG.choice(9000, 150, replace=False) + 100, 2)
    assert kind_of(schools, "school") == "text"
    assert kind_of(schools, "score") == "number"


def test_years_of_school_are_numbers():
    assert kind_of(RNG.integers(6, 18, N), "school") == "number"
    assert kind_of(RNG.choice([310, 311, 312], N), "school") == "category"


def test_words_below_the_name_of_a_thing_are_levels_as_ever():
    note = decide(np.where(X > 0, "north", np.where(X > -1, "south", "west")), "region").note
    assert note == "3 levels"
    codes = decide(RNG.integers(1, 4, N), "region").note
    assert codes == "codes, as its name says: 3 levels"


def test_codes_are_numbers_where_nothing_else_is_left():
    codes = np.sort(RNG.choice(3000, 100, replace=False))
    frame = pd.DataFrame({"region": [f"r{number}" for number in range(100)], "region_code": codes})
    _, code = prepare(frame).preparation.describe()
    assert (code.kind, code.note) == ("number", "codes, but no other column is left")
    assert prepare(frame.assign(x=X[:100])).feature_names == ["x"]


def test_numbers_of_blocks_that_are_things_are_an_id():
    assert decide(np.repeat(np.arange(1, 22), 2), "subject").kind == "id"


def test_numbers_with_another_unit_are_levels():
    homes = (["1Fam"] * 5 + ["2Fam"] * 3 + ["1Story"] * 2) * 10
    with pytest.warns(UserWarning, match="such as '1Story': it is taken as a category"):
        assert kind_of(homes) == "category"
    weights = [f"{number} kg" for number in range(50, 90)] * 3
    with pytest.warns(UserWarning, match="'column' has 1 cell that is not a number in kg"):
        assert kind_of([*weights, "110 lb"]) == "number"


def test_hashes_of_64_bits_are_ids():
    hashes = RNG.integers(2**60, 2**63, N).astype(np.uint64)
    assert kind_of(hashes) == kind_of(hashes.astype(np.int64)) == "id"


def test_codes_are_categories_where_some_are_missing():
    codes = ["98101.0", "98102.0", None, "98103.0"] * 50  # as pandas writes whole numbers with gaps
    assert kind_of(codes, "zipCode") == kind_of(codes, "ZIPCode") == "category"
    assert kind_of(codes, "price") == "number"


def test_spellings_of_a_level_are_one_level():
    column = prepare(
        pd.DataFrame({"plan": ["Pro", "Pro", "pro", "PRO ", "basic", "basic"], "x": X[:6]})
    ).preparation
    assert column.columns[0].levels == ("Pro", "basic")
    assert column.describe()[0].note == "2 levels, upper and lower case alike"
    again = column.apply(pd.DataFrame({"plan": [" PRO", "Basic"], "x": X[:2]})).array()
    assert (np.sign(again[:, :2]) == [[1, -1], [-1, 1]]).all()


def test_missing_is_a_level_of_a_category():
    frame = pd.DataFrame({"deck": ["A", "A", "B", "B", None, None], "x": X[:6]})
    prepared = prepare(frame, scaling="none")
    assert prepared.feature_names[:3] == ["deck=A", "deck=B", "deck=missing"]
    assert prepared.array()[:, :3].tolist() == [[1, 0, 0]] * 2 + [[0, 1, 0]] * 2 + [[0, 0, 1]] * 2
    assert prepared.preparation.describe()[0].note == "2 levels; 2 cells missing, which are a level"


def test_a_missing_level_that_the_fit_did_not_have_is_no_level():
    learned = prepare(
        pd.DataFrame({"deck": ["A", "A", "B", "B"], "x": X[:4]}), scaling="none"
    ).preparation
    with pytest.warns(
        UserWarning, match="1 cell with a level that the training data did not contain"
    ):
        rows = learned.apply(pd.DataFrame({"deck": ["A", None], "x": X[:2]})).array()
    assert rows[:, :2].tolist() == [[1, 0], [0, 0]]


@pytest.mark.parametrize(
    "cells", [X, LEVELS, np.where(X > 0, "yes", "no")], ids=["numbers", "levels", "booleans"]
)
def test_a_column_that_is_mostly_missing_is_left_out(cells):
    cells = [cell if row % 3 == 0 else None for row, cell in enumerate(cells)]
    note = decide(cells)
    assert (note.kind, note.note) == ("empty", "left out: 133 of 200 cells are missing")
    assert kind_of(cells, kinds={"column": "category"}) == "category"


@pytest.mark.parametrize("as_type", [float, str])
def test_a_number_that_may_mean_missing_is_asked_about(as_type):
    cells = [as_type(-999 if row % 10 == 0 else round(X[row], 3)) for row in range(N)]
    with pytest.warns(UserWarning, match="'column' has 20 cells of -999, far from all others: if"):
        assert kind_of(cells) == "number"
    note = decide(cells, kinds={"column": "number:-999"})
    assert note.note.startswith(
        "as you asked: -999 is taken as missing; 20 cells missing, filled with the median, "
    )


@pytest.mark.parametrize(
    "cells",
    [
        np.where(X > 0, -999, 999 * X),  # within reach of the others
        np.r_[-999, X[1:]],  # once
        np.where(X > 0, -998, X),  # no usual mark
    ],
)
def test_other_numbers_are_not_asked_about(cells):
    assert kind_of(cells) == "number"


def test_a_number_that_means_missing_is_known_to_new_data():
    frame = pd.DataFrame({"depth": [1.0, 2.0, 3.0, -99.0], "x": X[:4]})
    learned = prepare(frame, kinds={"depth": "number:-99"}, scaling="none").preparation
    again = type(learned).from_json(learned.to_json())
    assert again.apply(frame).array()[:, 0].tolist() == [1, 2, 3, 2]
    with pytest.raises(
        ValueError, match="or numbers of which one means missing, such as number:-999"
    ):
        prepare(frame, kinds={"depth": "number:none"})


@pytest.mark.parametrize("first", [0, 1])
def test_numbers_of_blocks_of_rows_are_an_id(first):
    pairs = np.repeat(np.arange(first, first + 21), 2)
    assert decide(pairs).note == "left out: numbers blocks of rows"
    assert decide(np.r_[pairs, [first + 21] * 5]).kind == "id"  # of any size
    assert decide(pairs + 1990).kind == "number"  # years
    assert decide(np.r_[pairs, pairs]).kind == "number"
    assert decide(pairs[1:]).kind == "number"
    assert decide(np.repeat(np.arange(1, 6), 20)).kind == "number"  # few, as of a design


def test_whole_numbers_of_things_that_rise_behind_an_id_are_ids_too():
    home = np.repeat(3 * np.arange(30) ** 2, 2)
    frame = pd.DataFrame({"kid": np.arange(60) * 7, "household": home, "x": X[:60]})
    assert [note.kind for note in prepare(frame).preparation.describe()] == ["id", "id", "number"]
    for name in ("age", "price", "concentration"):  # rows may be sorted by what was measured
        sorted_by = frame.rename(columns={"household": name})
        assert [note.kind for note in prepare(sorted_by).preparation.describe()] == [
            "id",
            "number",
            "number",
        ]


@pytest.mark.parametrize("name", ["villnum", "school_no", "stationid", "cluster", "isic_rev"])
def test_numbers_of_things_are_codes_by_name(name):
    codes = np.random.default_rng(0).integers(1, 9, size=len(X))
    frame = pd.DataFrame({name: codes, "x": X})
    assert prepare(frame).preparation.describe()[0].kind == "category"


@pytest.mark.parametrize("name", ["enum", "platinum", "casino", "clusters"])
def test_other_words_that_end_so_are_no_codes(name):
    frame = pd.DataFrame({name: np.random.default_rng(0).integers(1, 9, size=len(X)), "x": X})
    assert prepare(frame).preparation.describe()[0].kind == "number"


def test_numbers_with_letters_and_zeros_in_front_are_codes():
    cells = ["A", "01", "01.1", "02", "02.1", "B", "03", "03.1"] * 20
    frame = pd.DataFrame({"parent": cells, "x": np.arange(160) % 7})
    with pytest.warns(UserWarning, match="others such as 'A': it is taken as a category"):
        prepared = prepare(frame)
    assert prepared.preparation.describe()[0].kind == "category"


def test_dates_of_which_most_have_no_time_have_no_hour():
    days = pd.Timestamp("2001-01-01") + pd.to_timedelta(
        np.random.default_rng(0).integers(5000, size=300), unit="D"
    )
    stamped = pd.Series(days).where(np.arange(300) % 8 > 0, pd.Timestamp("2013-10-01 22:20"))
    frame = pd.DataFrame({"end": stamped, "x": np.arange(300) % 7})
    assert not any(one.cycle == "hour" for one in prepare(frame).preparation.features)


def test_what_rounding_leaves_of_a_zero_is_zero():
    cells = np.r_[np.zeros(40), np.random.default_rng(0).normal(1 / 3, 0.1, size=40)]
    prepared = prepare(pd.DataFrame({"x": cells}), scaling="standard")
    again = prepared.preparation.to_original_units(prepared.array())
    assert (again[:40] == 0).all()
    np.testing.assert_allclose(again.ravel(), cells, rtol=1e-12)


def test_tickets_of_which_many_are_whole_numbers_are_names():
    tickets = [f"A/5 {row}" if row % 4 == 0 else str(7 * row + 1) for row in range(200)]
    frame = pd.DataFrame({"ticket": tickets, "x": np.arange(200) % 7})
    with pytest.warns(UserWarning, match="give kinds={'ticket': 'number'}"):
        assert prepare(frame).preparation.describe()[0].kind in ("id", "text")


def test_years_of_two_digits_are_one_stretch_of_a_column_and_of_new_rows():
    rng = np.random.default_rng(0)
    days = [
        f"{rng.integers(1, 29):02d}.{rng.integers(1, 13):02d}.{year}"
        for year in rng.permutation(np.repeat(np.arange(22, 48), 4))
    ]
    prepared = prepare(pd.DataFrame({"born": days}), scaling="none")
    (note,) = prepared.preparation.describe()
    assert "years of two digits are 1922 to 1947" in note.note
    learned = Preparation.from_json(json.loads(json.dumps(prepared.preparation.to_json())))
    new = learned.apply(pd.DataFrame({"born": ["31.12.29", "01.01.30", "01.01.21"]})).array()[:, 0]
    moments = new.astype("datetime64[D]")
    assert moments.astype(str).tolist() == ["1929-12-31", "1930-01-01", "1921-01-01"]
