"""The benchmarks: each is listed and answers ``--help``, and what the documentation says to run
exists.
"""

import importlib
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_blobs

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "benchmarks"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the benchmarks are not here")

SCRIPTS = sorted(
    path.relative_to(FOLDER).as_posix()
    for path in FOLDER.glob("*/*.py")
    if not path.name.startswith("_")
)
ROW = re.compile(
    r"^\| \[(?P<name>[^]]+)\]\((?P<link>[^)]+)\) \| .+ \| ~?\d+ \| \[[^]]+\]\((?P<page>[^)]+)\) \|$",
    re.M,
)


def rows_of_the_readme():
    return [
        match.groupdict()
        for match in ROW.finditer((FOLDER / "README.md").read_text(encoding="utf-8"))
    ]


def test_the_readme_lists_every_script_once_and_nothing_else():
    rows = rows_of_the_readme()
    assert sorted(row["name"] for row in rows) == SCRIPTS
    assert [row["link"] for row in rows] == [row["name"] for row in rows]


def test_the_readme_names_pages_that_exist():
    assert [
        row["page"] for row in rows_of_the_readme() if not (FOLDER / row["page"]).is_file()
    ] == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of packages that a script imports
@pytest.mark.parametrize("script", SCRIPTS)
def test_a_script_answers_help_with_its_question_and_a_quick_mode(script, capsys, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    module_name = "benchmarks." + script.removesuffix(".py").replace("/", ".")
    module = importlib.import_module(module_name)
    question = module.__doc__.split("\n\n")[0].replace("\n", " ")
    with pytest.raises(SystemExit) as ended:
        module.main(["--help"])
    shown = capsys.readouterr().out
    assert ended.value.code == 0
    assert "?" in question
    assert question in " ".join(shown.split())
    assert f"python -m {module_name}" in shown
    assert "--quick" in shown


def texts_that_name_benchmarks():
    yield from (
        ROOT / name for name in ("README.md", "CONTRIBUTING.md", "Makefile", "benchmarks/README.md")
    )
    for folder, patterns in {
        "docs": ("*.rst", "*.md", "*.py"),
        "src": ("*.py",),
        "benchmarks": ("*.py",),
    }.items():
        for pattern in patterns:
            yield from (ROOT / folder).rglob(pattern)


def test_every_benchmark_that_a_text_names_exists():
    missing = []
    for path in texts_that_name_benchmarks():
        text = path.read_text(encoding="utf-8")
        named = [name.replace(".", "/") for name in re.findall(r"-m (benchmarks(?:\.\w+)+)", text)]
        named += [
            name.removesuffix(".py") for name in re.findall(r"\b(benchmarks/[\w/]+\.py)", text)
        ]
        missing += [f"{path.name}: {name}" for name in named if not (ROOT / f"{name}.py").is_file()]
    assert missing == []


def test_an_option_that_is_given_counts_more_than_quick(monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    common = importlib.import_module("benchmarks._common")

    def parse(*argv):
        parser = common.make_parser("What?")
        parser.add_argument("--rows", type=int, default=1000)
        return common.parse(parser, argv, rows=10).rows

    assert parse() == 1000
    assert parse("--quick") == 10
    assert parse("--quick", "--rows", "5") == parse("--rows", "5", "--quick") == 5


def test_results_are_found_again_in_another_run(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    common = importlib.import_module("benchmarks._common")
    runs = []

    def run():
        runs.append(1)
        return {"ari": 0.5}

    for _ in range(2):
        results = common.Results(tmp_path / "new" / "results.jsonl")
        assert results.of(("iris", 0), run) == results.of(("iris", 0), run) == {"ari": 0.5}
    assert len(runs) == 1


def test_data_sets_are_read_without_pandas_from_copies(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(ROOT)
    common = importlib.import_module("benchmarks._common")
    table = pd.DataFrame(
        {"x": [1.0, 2.0, 4.0, 8.0], "y": [0.5, 0.0, 0.5, 0.0], "label": ["b", "a", "b", "c"]}
    )
    table.to_parquet(tmp_path / "some.parquet")
    monkeypatch.setattr(common, "DATA_FOLDER", tmp_path)
    X, y = common.read_file("some")
    assert y.tolist() == ["b", "a", "b", "c"]
    common.write_npz(["some", "another"], tmp_path / "copies")
    monkeypatch.setattr(common, "DATA_FOLDER", tmp_path / "copies")
    monkeypatch.setitem(sys.modules, "pandas", None)
    copied, classes = common.read_file("some")
    np.testing.assert_array_equal(copied, X)
    assert classes.tolist() == [1, 0, 1, 2]
    assert common.read_file("another") is None


def test_clusters_are_compared_on_any_device(capsys, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.syspath_prepend(ROOT)
    devices = importlib.import_module("benchmarks.quality.devices")
    X, y = make_blobs(300, 4, centers=3, random_state=0)
    monkeypatch.setattr(devices, "read_file", lambda name: (X, y))
    devices.main(["--device", "cpu", "--seeds", "2", "--sets", "usps"])
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.split() == [
        "usps", "300", "3", "0.0000%", "0.0000%", "nan%", "1.00", "±", "0.00", "1.00", "±", "0.00", "1.00", "±", "0.00",
    ]  # fmt: skip
