"""The option ``--perturb SEED``: tests, doctests and pages, with noise in the last digits of what
fits compute with.

Tests that are marked ``exact`` run without noise. They compare the values that a base method is
given with those of the data, or are about distances that are exactly equal, in numbers that every
processor adds without rounding.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest

from perturbed.last_digits import SEED, install

FOLDER = Path(__file__).parent / "perturbed"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    text = (
        "multiply what base methods, merges and choices of medoids see by 1 + 1e-13 * noise of "
        "this seed"
    )
    parser.addoption("--perturb", type=int, metavar="SEED", help=text)


def pytest_configure(config: pytest.Config) -> None:
    """Start the noise, in this process and in those that it starts."""
    seed = config.getoption("perturb")
    if seed is not None:
        os.environ[SEED] = str(seed)
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(FOLDER), os.environ.get("PYTHONPATH", "")]
        ).rstrip(os.pathsep)
        install()


def pytest_report_header(config: pytest.Config) -> str | None:
    """Say that there is noise."""
    seed = config.getoption("perturb")
    return None if seed is None else f"perturbed by noise in the last digits, seed {seed}"


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Leave tests of exact numbers alone."""
    seed = os.environ.pop(SEED, None) if item.get_closest_marker("exact") else None
    try:
        return (yield)
    finally:
        if seed is not None:
            os.environ[SEED] = seed
