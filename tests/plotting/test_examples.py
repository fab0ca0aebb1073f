"""The scripts of the gallery run and draw."""

import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


def test_there_are_scripts():
    assert SCRIPTS


@pytest.mark.slow
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_of_the_gallery_runs_and_draws(script, monkeypatch):
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(plt.get_fignums()[-1]))
    runpy.run_path(str(script))
    assert shown
    assert set(shown) == set(plt.get_fignums())
    plt.figure(shown[0]).canvas.draw()
