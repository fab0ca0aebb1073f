"""Optional packages: the error says what needs which package, and how to install it."""

import sys

import pytest

from cohirf.optional import import_optional, is_installed


def test_a_missing_package_is_named_with_what_needs_it_and_both_ways_to_install_it():
    with pytest.raises(ImportError) as caught:
        import_optional("no_such_package.part", "fast", "GridDBSCAN")
    assert str(caught.value) == (
        'GridDBSCAN needs no_such_package: install it with pip install "cohirf[fast]", or in a checkout of cohirf with '
        'pip install ".[fast]".'
    )


def test_a_package_that_lacks_something_itself_says_so(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import no_such_package", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="No module named 'no_such_package'"):
        import_optional("half_installed", "fast", "GridDBSCAN")


def test_what_is_installed_is_returned():
    assert import_optional("json", "fast", "A test") is sys.modules["json"]
    assert is_installed("json")
    assert not is_installed("no_such_package")
