"""How tests run under ``make mutants``: with few examples, and only those that are about the
changed file.
"""

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

# Test files that are named after something else than what they are about.
LOCAL_BATCHES = tuple(
    f"cohirf.{module}."
    for module in (
        "beyond.cells",
        "beyond.local_batches",
        "beyond.reach",
        "algorithm.contract_batch",
        "algorithm.runs",
    )
)
SUBJECTS: dict[str, str | tuple[str, ...]] = {
    "test_local_fits.py": LOCAL_BATCHES,
    "test_local_hdbscan.py": "cohirf.spanning.",
    "test_properties.py": "cohirf.algorithm.levels.",
    "test_reference.py": "cohirf.algorithm.levels.",
    "test_reference_batched.py": "cohirf.algorithm.levels.",
}


def subject(test_file: Path) -> str | tuple[str, ...]:
    """Return how the names of functions begin that a test file is about: tests mirror ``src/``."""
    _, *folders, name = test_file.parts
    if name in SUBJECTS:
        return SUBJECTS[name]
    if folders and folders[0] not in ("algorithm", "beyond", "rows"):
        return f"cohirf.{'.'.join(folders)}."
    # Every fit calls nearly all of the algorithm: there, a test is about one module.
    return ".".join(["cohirf", *folders, name.removeprefix("test_").removesuffix(".py")]) + "."


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run short tests first: most mutants are found by one of them."""
    from mutmut.state import state

    items.sort(key=lambda item: state().duration_by_test.get(item.nodeid, 0))
    for item in items:
        # what mutmut 3.8 asks for, and pytest 9.2 calls by its public name only
        item._nodeid = item.nodeid


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Forget calls of functions that the test is not about, before mutmut notes which test calls
    which function.

    Otherwise nearly all tests would run for a mutant of a function that every fit calls.
    """
    from mutmut.state import state

    about = subject(item.path.relative_to(item.config.rootpath))
    state()._stats = {function for function in state()._stats if function.startswith(about)}
