"""Context managers that replace errors: what they raise, and what is left in memory after that."""

import gc
import traceback
import weakref

import pytest

from cohirf.error_contexts import replacing_errors


class Held:
    """Something large."""


@replacing_errors
def explaining(value=None):
    try:
        yield value
    except ZeroDivisionError as error:
        raise ValueError("explained") from error
    except KeyError:
        pass


@replacing_errors
def explaining_inside_another():
    with explaining():
        yield


@replacing_errors
def checking_at_the_end():
    try:
        yield
    finally:
        raise ValueError("explained")


@pytest.fixture
def without_collector():
    gc.disable()
    yield
    gc.enable()


def fail(context, references):
    held = Held()
    references.append(weakref.ref(held))
    with context:
        1 / 0  # noqa: B018 - an error of Python itself


@pytest.mark.parametrize(
    "make_context", [explaining, explaining_inside_another, checking_at_the_end]
)
def test_what_a_failed_function_held_is_freed_with_its_error(make_context, without_collector):
    references = []
    with pytest.raises(ValueError, match="explained") as found:
        fail(make_context(), references)
    assert isinstance(found.value.__context__, ZeroDivisionError)
    assert references[0]() is not None
    del found
    assert references[0]() is None


def test_the_cause_still_tells_where_it_was_raised():
    with pytest.raises(ValueError, match="explained") as found:
        fail(explaining(), [])
    assert [frame.line for frame in traceback.extract_tb(found.value.__cause__.__traceback__)][
        -1
    ].startswith("1 / 0")


def test_other_errors_pass_unchanged():
    error = TypeError("of the caller")
    with pytest.raises(TypeError) as found, explaining():
        raise error
    assert found.value is error


def test_an_error_can_be_suppressed():
    with explaining():
        raise KeyError


def test_the_context_has_the_value_that_is_yielded():
    with explaining("value") as value:
        assert value == "value"
