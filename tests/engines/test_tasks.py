"""Tasks compute with the configuration of the caller, and with one thread of BLAS and OpenMP."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sklearn import config_context, get_config
from threadpoolctl import ThreadpoolController, threadpool_info, threadpool_limits

from cohirf.engines.local import threads_of_fit
from cohirf.engines.tasks import call_on_one_thread, one_thread


def limits():
    return {library["num_threads"] for library in threadpool_info()}


def blas():
    return {each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"}


@pytest.fixture
def two_threads():
    """Let BLAS and OpenMP use two threads, and any thread set the limit of BLAS."""
    found = threadpool_limits(2)
    with ThreadpoolController().limit(limits=None):
        """threadpoolctl lets other threads set limits after such a context."""
    yield
    found.restore_original_limits()
    with ThreadpoolController().limit(limits=None):
        """Likewise."""


def test_a_task_has_the_configuration_and_one_thread(two_threads):
    def look():
        threadpool_limits(2, user_api="openmp")  # the environment of the tests has set 1
        with config_context(working_memory=77):
            config = get_config()
        return call_on_one_thread(lambda: (get_config()["working_memory"], limits()), config)

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(look).result() == (77, {1})
    assert limits() == {2}


@pytest.mark.parametrize("context", [one_thread, lambda: threads_of_fit(1)], ids=["task", "fit"])
@pytest.mark.parametrize("leaves_first", [0, 1])
def test_two_threads_limit_blas_until_the_last_of_them_leaves(two_threads, context, leaves_first):
    contexts = [context(), context()]
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        pools = [one, other]
        for pool, entered in zip(pools, contexts, strict=True):
            pool.submit(entered.__enter__).result()
            assert pool.submit(blas).result() == {1}
        for number in (leaves_first, 1 - leaves_first):
            assert blas() == {1}
            pools[number].submit(contexts[number].__exit__, None, None, None).result()
        assert blas() == {2}
        # any thread can limit BLAS now
        with one_thread():
            assert blas() == {1}
        assert blas() == {2}


def test_many_threads_come_and_go(two_threads):
    meet = threading.Barrier(4)

    def come_and_go(number):
        meet.wait()
        for _ in range(50):
            with one_thread():
                if limits() != {1}:
                    return False
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(come_and_go, range(4)))
    assert blas() == {2}
