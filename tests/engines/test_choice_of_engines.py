"""What users ask for decides the engine, in one file."""

import ast
from pathlib import Path

import pytest
from joblib import parallel_config

import cohirf
from cohirf.engines import (
    DaskEngine,
    LocalEngine,
    RayEngine,
    StreamingEngine,
    ThreadEngine,
    engine_at_rows,
    engine_of_batches,
    engine_of_sent_rows,
    engine_of_views,
    engine_on_device,
    engine_on_ray,
    engine_that_gathers,
)
from cohirf.engines.dask import DataLocalEngine
from cohirf.rows.storage import SerialEngine

PACKAGE = Path(cohirf.__file__).parent
CLIENT = object()
ARRAY = object()


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (lambda: engine_of_batches(None), SerialEngine()),
        (lambda: engine_of_batches(1), SerialEngine()),
        (lambda: engine_of_batches(2), LocalEngine(2)),
        (lambda: engine_of_batches(2, "cuda:1"), StreamingEngine("cuda:1")),
        (lambda: engine_of_sent_rows(2, None), LocalEngine(2)),
        (lambda: engine_of_sent_rows(2, CLIENT), DaskEngine(CLIENT)),
        (lambda: engine_that_gathers(CLIENT, ARRAY), DaskEngine(CLIENT, ARRAY)),
        (lambda: engine_on_ray(CLIENT), RayEngine(CLIENT)),
        (lambda: engine_at_rows(ARRAY), DataLocalEngine(ARRAY)),
        (lambda: engine_of_views(2), LocalEngine(2)),
        (lambda: engine_of_views(2, in_threads=True), ThreadEngine()),
        (engine_on_device, SerialEngine()),
    ],
)
def test_what_a_user_asks_for_decides_the_engine(chosen, expected):
    assert chosen() == expected


def test_a_context_of_joblib_is_what_a_user_asks_for():
    with parallel_config(backend="threading", n_jobs=2):
        assert engine_of_batches(None) == LocalEngine(None)


def test_only_one_file_makes_engines():
    # the serial engine is what there is without a choice
    engines = {"LocalEngine", "ThreadEngine", "StreamingEngine", "DaskEngine", "DataLocalEngine"}
    engines |= {"RayEngine"}
    made = {
        (path.relative_to(PACKAGE).as_posix(), node.func.id)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        if node.func.id in engines
    }
    assert made == {("engines/choice.py", name) for name in engines}
