"""The script in a report, run on the file, gives exactly the labels that the program wrote."""

import base64
import json
import re
import runpy
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest


def script_of(page):
    """Return the script that a page shows and offers for download."""
    packed = re.search(
        r'id="report-data">(.*?)</script>', Path(page).read_text(encoding="utf-8"), re.DOTALL
    )[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))["run"]["script"]


def labels_of(page):
    Path("again.py").write_text(script_of(page), encoding="utf-8")
    return runpy.run_path("again.py")["labels"].tolist()


@pytest.fixture
def flats():
    """Flats with text, missing cells, and a column without meaning, in units that differ much."""
    rng = np.random.default_rng(0)
    n = 300
    area = np.where(rng.random(n) < 0.5, rng.normal(45, 5, n), rng.normal(120, 10, n))
    table = pd.DataFrame(
        {
            "flat": np.arange(n),
            "area": area,
            "rent": 20 * area,
            "heating": rng.choice(["gas", "oil"], n),
        }
    )
    table.loc[::17, "rent"] = np.nan
    table.to_csv("flats.csv", index=False)


@pytest.fixture
def usps(data_home):
    if not (data_home / "usps.parquet").exists():
        pytest.skip("usps.parquet is missing: see CONTRIBUTING.md")
    pd.read_parquet(data_home / "usps.parquet")[:600].to_parquet("usps.parquet")


FITS = {
    "iris": ("iris.csv", "--id-column", "id", "--label-column", "species"),
    "flats": ("flats.csv", "--drop", "flat", "--as", "heating=category", "--impute", "mean", "--estimator", "kmeans",
              "--param", "n_clusters=4", "--scale", "standard", "--views", "3", "--seed", "7"),
    "usps": ("usps.parquet", "--label-column", "label", "--estimator", "kmeans", "--param", "n_clusters=10",
             "--max-features", "0.5", "--batch-size", "200"),
}  # fmt: skip


@pytest.mark.parametrize(
    "data", ["iris", *(pytest.param(name, marks=pytest.mark.slow) for name in ("flats", "usps"))]
)
def test_the_script_gives_the_labels_of_the_fit(cohirf, folder, data, request):
    if data != "iris":
        request.getfixturevalue(data)
    file, *options = FITS[data]
    outcome = cohirf(
        "fit",
        file,
        *options,
        "--out",
        "labels.csv",
        "--model",
        "model",
        "--report",
        "a.html",
        "--quiet",
    )
    assert outcome.code == 0, outcome.err
    written = pd.read_csv("labels.csv")["cluster"].tolist()
    assert len(set(written)) > 1
    assert labels_of("a.html") == written
    assert cohirf("report", "model", file, "--out", "b.html").code == 0
    assert script_of("b.html") == script_of("a.html")
    # a page shows how the model was fitted, not how the page was made
    for page in (
        "a.html",
        "b.html",
    ):
        assert f"cohirf fit {file}" in Path(page).read_text(encoding="utf-8")
        assert "cohirf report" not in Path(page).read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_measured_batch_size_is_not_measured_again(cohirf, folder):
    cohirf(
        "fit",
        "iris.csv",
        "--drop",
        "species",
        "--drop",
        "id",
        "--batch-size",
        "auto",
        "--model",
        "model",
        "--quiet",
    )
    cohirf("report", "model", "iris.csv", "--out", "r.html")
    assert re.search(r"batch_size=\d+", script_of("r.html"))


def test_a_model_from_python_has_a_script_without_a_file(cohirf, folder, iris):
    from cohirf import CoHiRF

    CoHiRF(random_state=0).fit(iris[["sepal_length", "petal_width"]]).save("model")
    assert cohirf("report", "model", "iris.csv", "--out", "r.html").code == 0
    assert script_of("r.html").endswith("labels = model.fit(X).labels_")
