"""The page: packed data, self-contained, unchanged in structure by hostile text, readable in both
themes.
"""

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF
from cohirf.app.explain import page as rendering
from cohirf.app.explain.cuts import find_cuts
from cohirf.app.explain.page import (
    FILTERS,
    SCRIPTS,
    compress_json,
    decimal,
    pack,
    pack_labels,
    pack_names,
    read_script,
    render,
)
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.report import summarize
from cohirf.app.explain.study import RowNames, check_study
from cohirf.store.models import Origin

HTML = Path(rendering.__file__).parent / "html"


@given(arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**31), 2**31 - 1)))
def test_integers_come_back(unpack, values):
    assert unpack(pack(values)).tolist() == values.tolist()


@given(arrays(np.float64, st.integers(0, 50), elements=st.floats(-1e6, 1e6)))
def test_floats_come_back_as_single_precision(unpack, values):
    assert unpack(pack(values)).tolist() == values.astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "Uint8"),
        ([256], "Uint16"),
        ([70_000], "Uint32"),
        ([-1, 127], "Int8"),
        ([-1, 128], "Int16"),
        ([], "Uint8"),
    ],
)
def test_integers_take_as_few_bytes_as_they_need(values, kind):
    assert pack(np.array(values, dtype=np.int64))["type"] == kind


def test_a_table_is_packed_row_by_row(unpack):
    table = np.array([[1, 2], [3, 4]])
    assert unpack(pack(table)).tolist() == [1, 2, 3, 4]
    assert unpack(pack(table.T)).tolist() == [1, 3, 2, 4]


def test_byte_order_and_strides_do_not_matter(unpack):
    assert unpack(pack(np.arange(1000, dtype=">i4")[::3])).tolist() == list(range(0, 1000, 3))


def test_labels_of_few_clusters_take_less_than_half_a_byte_each():
    labels = np.random.default_rng(0).integers(0, 4, 100_000)
    assert len(pack(labels)["data"]) < 50_000


def test_labels_of_the_finest_cut_are_packed(iris, unpack):
    cuts = find_cuts(iris[2])
    packed = pack_labels(cuts)
    assert packed["cut"] == len(cuts) - 1
    assert unpack(packed["labels"]).tolist() == cuts[-1].labels.tolist()


def test_where_there_is_little_room_a_coarser_cut_is_packed(iris, unpack):
    cuts = find_cuts(iris[2])
    room = len(pack_labels(cuts)["labels"]["data"])
    packed = pack_labels(cuts, max_characters=room - 1)
    assert packed["cut"] < len(cuts) - 1
    assert unpack(packed["labels"]).tolist() == cuts[packed["cut"]].labels.tolist()
    assert pack_labels(cuts, max_characters=room) == pack_labels(cuts)


def test_a_cut_that_hides_clusters_is_not_packed_since_no_other_follows_from_it(noisy):
    cuts = find_cuts(noisy[1])
    assert any(cut.n_clusters < cut.n_merged for cut in cuts)
    for room in range(40, 400, 20):
        packed = pack_labels(cuts, max_characters=room)
        assert packed is None or cuts[packed["cut"]].n_clusters == cuts[packed["cut"]].n_merged


def test_where_there_is_no_room_nothing_is_packed(iris, monkeypatch):
    cuts = find_cuts(iris[2])
    assert pack_labels(cuts, max_characters=10) is None
    monkeypatch.setitem(vars(PAGE), "labelled_rows", 100)
    assert pack_labels(cuts) is None


def test_names_of_rows_are_one_per_line():
    packed = pack_names(RowNames("customer", ["C-1", "two\nlines", "C-3"]))
    assert packed["column"] == "customer"
    assert zlib.decompress(base64.b64decode(packed["names"])).decode() == "C-1\ntwo lines\nC-3"


def test_names_that_do_not_fit_are_left_out():
    assert pack_names(RowNames("customer", ["a", "b"]), max_characters=3) == {
        "column": "customer",
        "names": None,
    }
    assert pack_names(None) is None


PAYLOADS = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg onload=alert(1)>",
    "</script><script>alert(1)</script>",
    "</title></style><iframe src=//example.org>",
    "<!--<script>",
    "]]>{{ 7 * 7 }}{% raw %}",
    "javascript:alert(1)\u2028\u2029\x00&lt;b&gt;",
]


class Structure(HTMLParser):
    """Collects elements with the names of their attributes, and the text between them."""

    def __init__(self, page):
        super().__init__()
        self.elements = []
        self.text = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, *sorted(name for name, _ in attrs)))

    def handle_data(self, data):
        self.text.append(data)


def element_text(page, element_id):
    return re.search(rf'id="{element_id}">(.*?)</script>', page, re.DOTALL)[1]


def hostile_base(payload):
    """Return a K-Means whose class and parameters have a hostile name and value."""

    class Hostile(KMeans):
        def __init__(self, n_clusters=3, note=payload, random_state=None):
            super().__init__(n_clusters, random_state=random_state)
            self.note = note

    Hostile.__name__ = payload
    return Hostile(note=payload + " ")


@pytest.fixture(scope="module")
def make_page(blobs):
    """Return a function that renders a page with one text in every place that a user can fill."""

    def make(payload, base=None):
        X = blobs[0][:60]
        y = blobs[1][:60]
        model = CoHiRF.as_published(
            KMeans(3) if base is None else base, views=2, random_state=0
        ).fit(X)
        names = [f"{payload} {i}" for i in range(10)]
        study = check_study(
            model,
            X,
            [f"{payload} {k}" for k in y],
            names,
            ids=[f"{payload} {i}" for i in range(len(X))],
        )
        origin = Origin(payload, {"drop": [payload]}, payload)
        return render(
            summarize(study, payload, data_name=payload, origin=origin, written="2026-01-01")
        )

    return make


@pytest.fixture(scope="module")
def page(make_page):
    return make_page("name")


def test_nothing_is_fetched_from_elsewhere(page):
    structure = Structure(page)
    tags = {element[0] for element in structure.elements}
    assert not tags & {"link", "iframe", "object", "embed", "base", "form"}
    assert not [
        element for element in structure.elements if element[0] == "script" and "src" in element
    ]
    urls = re.findall(
        r"(?:href|src|url)\s*[=(]\s*[\"']?([^\"')\s>]+)", page.split('id="report-data"')[0]
    )
    assert all(url.startswith("#") for url in urls if not url.startswith("data:"))


def test_the_policy_admits_only_the_script_of_the_page_and_no_network(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#39;", "'")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none'; ")
    assert f"script-src 'sha256-{digest}';" in policy
    assert "connect-src" not in policy  # so that the default holds


def test_the_script_is_made_of_all_files():
    # topics have a page of their own
    assert {*SCRIPTS.split(), "topics"} == {file.stem for file in HTML.glob("*.js")}
    for name in SCRIPTS.split():
        assert (HTML / f"{name}.js").read_text(encoding="utf-8") in read_script()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_hostile_text_does_not_change_the_structure_of_the_page(page, make_page, payload):
    hostile = make_page(payload)
    assert Structure(hostile).elements == Structure(page).elements


@pytest.mark.parametrize("payload", PAYLOADS[:2])
def test_hostile_classes_and_parameters_of_a_base_method_do_not_either(page, make_page, payload):
    benign = make_page("name", hostile_base("Benign"))
    assert (
        Structure(make_page("name", hostile_base(payload))).elements == Structure(benign).elements
    )


def test_hostile_text_is_shown_as_it_is(make_page):
    text = "".join(Structure(make_page("<b>bold</b>")).text)
    assert re.search(r"<b>bold</b> \d", text)


@pytest.mark.parametrize("payload", PAYLOADS)
def test_data_in_the_page_comes_back_and_holds_no_markup(payload):
    embedded = compress_json({payload: [payload]})
    assert json.loads(zlib.decompress(base64.b64decode(embedded))) == {payload: [payload]}
    assert re.fullmatch(r"[A-Za-z0-9+/=]+", embedded)


def test_data_refuses_what_browsers_cannot_read():
    with pytest.raises(ValueError, match="not JSON compliant"):
        compress_json(float("nan"))


def test_style_and_script_cannot_end_their_elements():
    assert "</style" not in (HTML / "style.css").read_text(encoding="utf-8").lower()
    assert "</script" not in read_script().lower()


def test_the_script_writes_text_only_as_text():
    for danger in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "new Function",
    ):
        assert danger not in read_script()


def test_counts_shares_and_numbers_are_written_for_people():
    significant = FILTERS["significant"]
    plural = FILTERS["plural"]
    assert FILTERS["thousands"](1234567) == "1,234,567"
    assert [decimal(value) for value in (-0.5, None)] == ["\N{MINUS SIGN}0.50", "\N{EN DASH}"]
    assert [significant(value) for value in (0.01234, -12.34, 123456.7)] == [
        "0.0123",
        "\N{MINUS SIGN}12.3",
        "123,457",
    ]
    assert [plural(count, "row") for count in (0, 1, 2000)] == ["0 rows", "1 row", "2,000 rows"]


def luminance(code):
    parts = [int(code[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other):
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def theme_colours(selector):
    style = (HTML / "style.css").read_text(encoding="utf-8")
    block = style[style.index(f"{selector} {{") :].split("}")[0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block))


@pytest.mark.parametrize("selector", [":root", ':root[data-theme="dark"]'])
@pytest.mark.parametrize("text", ["ink", "soft", "accent", "good", "fair", "poor", "unknown"])
def test_text_can_be_read_on_paper_and_panels_in_both_themes(selector, text):
    colours = theme_colours(selector)
    assert contrast(colours[text], colours["paper"]) >= 4.5
    assert contrast(colours[text], colours["panel"]) >= 4.5
    assert contrast(colours["on-accent"], colours["accent"]) >= 4.5


def test_dark_without_a_script_is_dark_with_one():
    assert theme_colours(":root:not([data-theme])") == theme_colours(':root[data-theme="dark"]')


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_marks_of_clusters_stand_out_from_the_paper(theme):
    paper = theme_colours(":root" if theme == "light" else ':root[data-theme="dark"]')["paper"]
    # noise and the lightest rounds of hues are meant to be faint; dark rims and numbers mark them
    # too
    least = 1.5 if theme == "light" else 3.0
    assert all(contrast(colour, paper) >= least for colour in rendering.make_palette()[theme])


ROWS = np.random.default_rng(0).normal(size=(60, 3))


GAPS = np.where(np.random.default_rng(1).random((60, 3)) < 0.1, np.nan, ROWS)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "X"),
    [
        (CoHiRF.as_published(KMeans(2)), ROWS[:1]),
        (CoHiRF.as_published(KMeans(2)), ROWS[:2]),
        (CoHiRF.as_published(KMeans(2)), ROWS[:, :1]),
        (CoHiRF.as_published(KMeans(2)), ROWS[:, :2]),
        (CoHiRF.as_published(KMeans(3)), np.ones((20, 3))),
        (CoHiRF.as_published(KMeans(3)), sparse.csr_array(np.maximum(ROWS, 0))),
        (CoHiRF.as_published(make_pipeline(SimpleImputer(), KMeans(3))), GAPS),
        (CoHiRF.as_published(KMeans(3), min_cluster_size=100), ROWS),
        (CoHiRF.as_published(DBSCAN(eps=1e-9)), ROWS),
        (CoHiRF.as_published(DBSCAN(eps=100)), ROWS),
        (CoHiRF.as_published(KMeans(20), max_iter=1), ROWS),
    ],
    ids=[
        "one row",
        "two rows",
        "one feature",
        "two features",
        "equal rows",
        "sparse",
        "missing values",
        "all noise",
        "nothing fuses",
        "one cluster",
        "unfinished",
    ],
)
def test_odd_data_gives_a_page_without_holes(model, X):
    model.set_params(views=2, random_state=0).fit(X)
    page = render(summarize(check_study(model, X, None, None), "Odd"))
    visible = "".join(Structure(page.split('id="report-data"')[0].split("</style>")[1]).text)
    assert f"{X.shape[0]:,} row" in visible
    assert not re.search(r"\bnan\b|\binf\b|Undefined", visible)
