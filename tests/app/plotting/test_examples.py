"""The scripts of the gallery run and draw."""

import os
import re
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

ROOT = Path(__file__).parents[3]
SCRIPTS = sorted((ROOT / "examples").glob("plot_*.py"))
DATA = (ROOT / os.environ.get("COHIRF_DATA", "../shared/data")).resolve()


def test_there_are_fifteen_scripts_or_more():
    assert len(SCRIPTS) >= 15


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_the_text_of_a_script_names_the_files_that_it_reads(script):
    text = script.read_text(encoding="utf-8")
    description = text.split('"""')[1]
    assert [
        name
        for name in re.findall(r'"([\w-]+\.parquet)"', text)
        if f"``{name}``" not in description
    ] == []


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs_and_draws(script, monkeypatch):
    missing = [
        name
        for name in re.findall(r'"([\w-]+\.parquet)"', script.read_text())
        if not (DATA / name).is_file()
    ]
    if missing:
        pytest.skip(
            f"{DATA} does not have {', '.join(missing)}: set COHIRF_DATA to the folder of the data "
            "sets"
        )
    monkeypatch.setenv("COHIRF_DATA", str(DATA))
    monkeypatch.syspath_prepend(script.parent)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()[-1]))
    runpy.run_path(str(script))
    assert shown
    assert set(shown) == set(plt.get_fignums())
    plt.figure(shown[0]).canvas.draw()
