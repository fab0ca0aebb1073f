"""How tests run under ``make mutants``: with few examples, and only those that are about the changed file."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Each mutant must meet the same examples, and few: thousands of mutants are tried.
settings.register_profile(
    "mutants",
    deadline=None,
    derandomize=True,
    database=None,
    max_examples=20,
    suppress_health_check=[HealthCheck.too_slow],
)

SUBJECTS = {"test_reference.py": "algorithm", "test_properties.py": "algorithm"}


def subject(test_file: Path) -> str:
    """Return the folder or module of cohirf that a test is about: tests mirror ``src/``."""
    _, name, *_ = test_file.parts
    return SUBJECTS.get(name) or name.removeprefix("test_").removesuffix(".py").partition("_")[0]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Set the private name by which mutmut 3.8 asks for a test's id: pytest 9.2 has only the public one."""
    for item in items:
        item._nodeid = item.nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Forget calls of functions that the test is not about, before mutmut notes which test calls which function.

    Otherwise nearly all tests would run for a mutant of a function that every fit calls.
    """
    from mutmut.state import state

    about = f"cohirf.{subject(item.path.relative_to(item.config.rootpath))}."
    state()._stats = {function for function in state()._stats if function.startswith(about)}
