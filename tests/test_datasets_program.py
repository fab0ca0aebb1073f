"""python -m cohirf.datasets: write_data, from a shell."""

from pathlib import Path

import pytest

from cohirf.datasets import write_data
from cohirf.datasets.__main__ import main


@pytest.mark.parametrize(
    ("kind", "options", "given"),
    [
        ("spheres", "--noise 0", {"noise": 0}),
        ("blobs", "--n-clusters 4 --n-features 5 --spread 0.5", {"n_clusters": 4, "n_features": 5, "spread": 0.5}),
        ("hypercube", "--n-clusters 4 --n-informative 2", {"n_clusters": 4, "n_informative": 2}),
    ],
)
def test_files_are_the_librarys(tmp_path, monkeypatch, capsys, kind, options, given):
    monkeypatch.chdir(tmp_path)
    assert main([kind, "1e2", "a.npy", "--seed", "3", *options.split()]) == 0
    assert capsys.readouterr().out == "Written: a.npy, a_labels.npy\n"
    write_data(kind, "b.npy", 100, random_state=3, **given)
    for end in (".npy", "_labels.npy"):
        assert Path(f"a{end}").read_bytes() == Path(f"b{end}").read_bytes()


@pytest.mark.parametrize(
    "arguments", ["blobs 10 old.csv", "blobs 10 a.xls", "blobs ten a.csv", "cubes 10 a.csv", "blobs 10 no/a.csv"]
)
def test_bad_input_is_refused(tmp_path, monkeypatch, capsys, arguments):
    monkeypatch.chdir(tmp_path)
    Path("old.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(arguments.split())
    assert stop.value.code == 2
    assert "error: " in capsys.readouterr().err
    assert [path.read_text(encoding="utf-8") for path in Path().iterdir()] == ["mine"]
