"""One process for all probes of the tests: starting one takes seconds."""

import pytest

from cohirf.planning.probe import fresh_process


@pytest.fixture(scope="session")
def call():
    with fresh_process() as call:
        yield call
