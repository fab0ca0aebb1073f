"""Records of fits say where two states of the code differ."""

import pytest
from tools import recorded_fits

SMALL = [
    "as published, strict, wine, array, seed 0",
    "device, batches, blobs, device, seed 0",
    "save and load, batches, blobs, array, seed 0",
]


def test_a_record_has_600_fits_of_which_150_are_as_published():
    names = list(recorded_fits.all_cases())
    assert len(names) >= 600
    assert sum(name.startswith("as published") for name in names) >= 150


@pytest.mark.parametrize("name", SMALL)
def test_a_fit_that_is_recorded_twice_has_equal_results(name):
    found = recorded_fits.record_one(name)
    assert "error" not in found
    assert recorded_fits.record_one(name) == found


def test_a_comparison_names_the_fits_and_the_results_that_differ(capsys):
    before = {"a": {"labels": "1", "parents": "2"}, "b": {"labels": "1"}, "c": {"labels": "1"}}
    after = {"a": {"labels": "1", "parents": "3"}, "b": {"labels": "1"}, "d": {"labels": "1"}}
    assert recorded_fits.compare(before, after) == 1
    assert capsys.readouterr().out.splitlines() == [
        "1 of 2 fits are equal.",
        "  a: parents",
        "1 fits are only in the first record.",
        "1 fits are only in the second record.",
    ]


def test_a_fit_that_fails_in_one_record_is_named_with_its_error(capsys):
    assert recorded_fits.compare({"a": {"labels": "1"}}, {"a": {"error": "ValueError: no"}}) == 1
    assert "a: ValueError: no" in capsys.readouterr().out


def test_the_record_of_a_fit_that_raises_is_its_error(monkeypatch):
    failing = {"one": recorded_fits.Case("one", recorded_fits.CoHiRF(views=0), "wine")}
    monkeypatch.setattr(recorded_fits, "all_cases", lambda: failing)
    assert "views" in recorded_fits.record_one("one")["error"]
