"""The report in a browser: headless Chromium opens it from disk, as a reader would."""

import csv
import os
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from cohirf import CoHiRF
from cohirf.report import downloads, write_report
from cohirf.report.cuts import find_cuts

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install playwright")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium")

PAYLOAD = '"><img src=x onerror="hacked=1"><script>hacked=1</script><a href="https://example.org">%{x}$x$</a>'
PATIENCE = 120_000  # milliseconds: a busy machine is no failure
FADED, NOISE = "rgb(213, 217, 223)", "rgb(179, 179, 179)"


@pytest.fixture(scope="module")
def browser():
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []  # Chromium has none for root
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_report(browser):
    """Return a function that opens a report; when the tests are over, nothing has gone wrong in any."""
    troubles, contexts = [], []

    def open_file(path, **settings):
        context = browser.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on("request", lambda request: troubles.append(request.url) if request.url != path.as_uri() else None)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready]")
        page.troubles = troubles
        return page

    yield open_file
    for context in contexts:
        context.close()
    assert troubles == []


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """Handwritten digits, a model of several levels with noise, and its report."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:200], y[:200]
    model = CoHiRF.as_published(
        KMeans(10, n_init=1), n_views=2, max_features=0.7, min_cluster_size=4, random_state=0
    ).fit(X)
    assert model.hierarchy_.n_levels >= 3
    assert (model.labels_ < 0).any()
    path = tmp_path_factory.mktemp("digits") / "report.html"
    write_report(model, X, path, y=y, image_shape=(8, 8), title="Digits")
    cuts = find_cuts(model)
    final = [cut.is_final for cut in cuts].index(True)
    return SimpleNamespace(X=X, y=y, model=model, path=path, cuts=cuts, final=final)


@pytest.fixture(scope="module")
def opened(open_report, digits):
    return open_report(digits.path, color_scheme="light", viewport={"width": 1280, "height": 800})


@pytest.fixture(scope="module")
def narrow(open_report, digits):
    return open_report(digits.path, color_scheme="dark", viewport={"width": 390, "height": 800})


@pytest.fixture
def page(opened, digits):
    """The report of the digits as it is when it is opened: at the last cut, at the top of the hierarchy, light."""
    if opened.locator("#cut-table [aria-pressed=true]").count():
        opened.click("#cut-table [aria-pressed=true]")
    choose_cut(opened, digits.final)
    if opened.locator("#tree-path li").count() > 1:
        opened.click("#tree-path button >> nth=0")
    if opened.get_attribute("html", "data-theme") == "dark":
        opened.click("#theme")
    wait_for_picture(opened)
    yield opened
    assert opened.troubles == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, blobs):
    """A report in which every text that a user can give is hostile, in a file whose name is odd."""
    X, y = blobs
    model = CoHiRF.as_published(KMeans(3), n_views=2, random_state=0).fit(X[:, :2])
    path = tmp_path_factory.mktemp("hostile") / "a #%report.html"
    names = [f"{PAYLOAD} {i}" for i in range(2)]
    classes = [f"{PAYLOAD} {k}" for k in y]
    texts = dict.fromkeys(("title", "data_name", "command"), PAYLOAD)
    return write_report(model, X[:, :2], path, y=classes, feature_names=names, **texts)


@pytest.fixture
def server():
    """A server that remembers what it was asked for."""
    asked = []

    class Remember(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            pass

    with HTTPServer(("127.0.0.1", 0), Remember) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield SimpleNamespace(url=f"http://127.0.0.1:{server.server_port}", asked=asked)
        server.shutdown()
        thread.join()


def wait_for_picture(page):
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 50)))")


def choose_cut(page, place):
    """Move the slider by keyboard to a place, counted from the end with one cluster."""
    steps = place - int(page.input_value("#cut"))
    page.focus("#cut")
    for _ in range(abs(steps)):
        page.keyboard.press("ArrowRight" if steps > 0 else "ArrowLeft")
    wait_for_picture(page)


def drawn_colours(page):
    """Return how many points are painted in each colour."""
    points = page.locator("#scatter .scatterlayer .trace").first.locator("path.point")
    colours = points.evaluate_all("(points) => points.map((point) => point.style.fill)")
    names, counts = np.unique(colours, return_counts=True)
    return dict(zip(names.tolist(), counts.tolist(), strict=True))


def read_labels(page):
    """Press the button, and return the name of the file with its rows and labels."""
    with page.expect_download() as download:
        page.click("#download")
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        head, *lines = csv.reader(file)
    assert head == ["row", "cluster"]
    table = np.array(lines, dtype=int)
    return download.value.suggested_filename, table[:, 0], table[:, 1]


@pytest.mark.parametrize(
    ("pages", "width", "scheme"),
    [pytest.param("narrow", 390, "dark", marks=pytest.mark.slow), ("opened", 1280, "light")],
)
def test_it_fits_and_follows_the_theme_of_the_system(pages, scheme, width, request):
    page = request.getfixturevalue(pages)
    assert page.get_attribute("html", "data-theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth") == width  # nothing sticks out at the side
    for chart in ("tree-chart", "scatter", "rows-chart", "agreement-chart"):
        box = page.locator(f"#{chart} .main-svg").first.bounding_box()
        assert box["width"] > 150
        assert box["x"] + box["width"] <= width
    widths = page.locator(".card img").evaluate_all("(images) => images.map((image) => image.naturalWidth)")
    assert widths
    assert set(widths) == {8}
    assert page.troubles == []


def test_the_slider_changes_picture_table_and_text(page, digits):
    pictures = set()
    places = [0, 4, digits.final - 1, digits.final + 1, len(digits.cuts) - 1]
    for place in places:
        choose_cut(page, place)
        cut = digits.cuts[place]
        clusters = f"{cut.n_clusters:,} cluster{'s'[: cut.n_clusters > 1]}"
        assert page.inner_text("#cut-text b") == page.get_attribute("#cut", "aria-valuetext") == clusters
        listed = page.locator("#cut-table tbody td:nth-child(2)").all_inner_texts()
        assert [int(size) for size in listed] == np.sort(cut.size)[::-1][:50].tolist()
        pictures.add(tuple(sorted(drawn_colours(page).items())))
    assert len(pictures) == len(places)


def test_a_cut_with_the_clusters_of_a_level_says_so(page, digits):
    place = next(place for place, cut in enumerate(digits.cuts) if cut.levels)
    choose_cut(page, place)
    told = f"level {digits.cuts[place].levels[0]} of {digits.model.hierarchy_.n_levels}"
    assert told in page.inner_text("#cut-text")


def test_the_cards_and_the_dendrogram_follow_the_slider(page, digits):
    final = page.inner_text("#at-a-glance")
    choose_cut(page, 2)
    cut = digits.cuts[2]
    assert page.locator(".card h3").all_inner_texts() == [f"Cluster {number}" for number in cut.largest(12)]
    assert [int(size) for size in page.locator(".card .size b").all_inner_texts()] == cut.size[cut.largest(12)].tolist()
    widths = page.locator(".card img").evaluate_all("(images) => images.map((image) => image.naturalWidth)")
    assert widths == [8] * 3
    assert page.inner_text("#merge-note") == "The dashed line is the cut into 3 clusters."
    numbers = page.locator("#merge-chart .annotation-text").all_text_contents()
    assert sorted(numbers) == ["0", "1", "2"]
    page.click("#back")
    wait_for_picture(page)
    assert page.inner_text("#at-a-glance") == final
    assert int(page.input_value("#cut")) == digits.final
    assert page.locator("#back").is_disabled()


def test_cards_of_other_cuts_read_like_those_of_final_clusters(page, digits):
    final, finer = digits.cuts[digits.final], digits.cuts[digits.final + 1]
    label_of = dict(zip(finer.medoid.tolist(), range(finer.n_clusters), strict=True))
    in_both = next(
        label
        for label in final.largest(12).tolist()
        if finer.size[label_of[final.medoid[label]]] == final.size[label]
        and label_of[final.medoid[label]] in finer.largest(12)
    )
    by_template = read_card(page, in_both)
    choose_cut(page, digits.final + 1)
    assert read_card(page, label_of[final.medoid[in_both]]) == by_template
    assert any(line.endswith(" SD") for line in by_template)


def read_card(page, number):
    """Return the lines of a card, without its heading."""
    card = page.locator(".card", has=page.get_by_role("heading", name=f"Cluster {number}", exact=True))
    return [line for line in card.inner_text().splitlines() if line and line != f"Cluster {number}"]


def test_points_are_painted_by_cluster_and_noise_is_grey(page, digits):
    counts = np.bincount(digits.model.labels_ + 1)
    colours = drawn_colours(page)
    assert colours[NOISE] == counts[0]
    assert sorted(colours.values()) == sorted(counts.tolist())


def test_labels_of_every_cut_can_be_downloaded(page, digits):
    for place in (0, 3, digits.final, digits.final + 1, len(digits.cuts) - 1):
        choose_cut(page, place)
        name, rows, labels = read_labels(page)
        assert name == f"labels-{digits.cuts[place].n_clusters}-clusters.csv"
        assert rows.tolist() == list(range(200))
        assert labels.tolist() == digits.cuts[place].labels.tolist()


@pytest.mark.slow
def test_where_labels_do_not_fit_those_of_the_drawn_rows_are_downloaded_and_it_says_so(
    open_report, digits, tmp_path, monkeypatch
):
    monkeypatch.setattr(downloads, "MAX_ROWS", 100)
    page = open_report(write_report(digits.model, digits.X, tmp_path / "part.html", max_points=60))
    choose_cut(page, 6)
    note = page.inner_text("#download-note")
    assert "The file has the 60 plotted rows: all 200 would make this page too large." in note
    assert "model.hierarchy_.cut(n_clusters=7) returns the labels of all rows" in note
    _, rows, labels = read_labels(page)
    assert len(rows) == 60
    assert labels.tolist() == digits.model.hierarchy_.cut(n_clusters=7)[rows].tolist()


def test_a_cluster_can_be_shown_alone(page, digits):
    button = page.locator("#cut-table tbody button").nth(1)
    cluster = int(button.inner_text())
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    assert drawn_colours(page)[FADED] == (digits.model.labels_ != cluster).sum()
    button.click()
    assert FADED not in drawn_colours(page)


def test_a_click_descends_in_the_hierarchy_and_the_path_leads_back(page, digits):
    slices = page.locator("#tree-chart g.slice")
    before = slices.count()
    slices.nth(1).click()
    page.wait_for_selector("#tree-path li:nth-child(2)")
    assert page.inner_text("#tree-path [aria-current]") == "cluster 0"
    page.wait_for_function(f"document.querySelectorAll('#tree-chart g.slice').length < {before}")
    about = page.inner_text("#tree-about")
    assert f"{(digits.model.labels_ == 0).sum()} rows" in about
    assert f"medoid: row {digits.model.medoid_indices_[0]}" in about
    page.click("#tree-path button >> nth=0")
    assert page.locator("#tree-path li").count() == 1
    page.wait_for_function(f"document.querySelectorAll('#tree-chart g.slice').length == {before}")


def test_pointing_at_a_cluster_of_the_hierarchy_tells_medoid_size_and_level(page, digits):
    page.locator("#tree-chart g.slice").nth(1).hover()
    told = page.locator("#tree-chart .hovertext").text_content()
    assert "cluster 0" in told
    assert f"medoid: row {digits.model.medoid_indices_[0]}" in told
    assert f"{(digits.model.labels_ == 0).sum()} rows" in told
    assert "formed at level" in told
    page.mouse.move(0, 0)


def test_everything_can_be_reached_by_keyboard_and_shows_where_it_is(page):
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    page.locator(".skip").focus()
    reached = []
    for _ in range(200):
        page.keyboard.press("Tab")
        place, is_visible = page.evaluate(
            "() => { const at = document.activeElement;"
            " return [at.closest('[id]')?.id ?? '', getComputedStyle(at).outlineStyle !== 'none']; }"
        )
        if place == "quality":
            break
        assert is_visible, place
        reached.append(place)
    steps = [reached.index(place) for place in ("theme", "cut", "tree-path", "tree-parts", "download", "cut-table")]
    assert steps == sorted(steps)


def test_keys_press_what_a_mouse_would(page):
    page.focus("#tree-parts button")
    page.keyboard.press("Enter")
    assert page.locator("#tree-path li").count() == 2
    assert page.evaluate("document.activeElement.getAttribute('aria-current')") == "true"  # the focus is not lost
    page.focus("#cut-table tbody button")
    page.keyboard.press("Space")
    assert page.locator("#cut-table [aria-pressed=true]").count() == 1
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_controls_and_charts_have_names_for_those_who_cannot_see_them(page):
    assert page.get_by_role("slider", name="Clusters").count() == 1
    assert page.get_by_role("button", name="Dark mode").count() == 1
    assert page.get_by_role("button", name="Download labels (CSV)").count() == 1
    assert page.get_by_role("img", name="Scatter plot of rows, coloured by cluster").count() == 1
    assert page.get_by_role("heading", level=1, name="Digits").count() == 1
    nameless = page.locator("button, input, img, [role=img], [role=region]").evaluate_all(
        "(elements) => elements.filter((element) => !(element.textContent.trim() || element.ariaLabel || element.alt"
        " || element.labels?.length || element.getAttribute('aria-labelledby'))).length"
    )
    assert nameless == 0


def test_the_theme_changes_the_charts_too(page):
    light = drawn_colours(page)
    page.click("#theme")
    dark = drawn_colours(page)
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    assert set(dark) != set(light)
    assert sorted(dark.values()) == sorted(light.values())


def test_on_paper_it_is_light_and_charts_fit(page):
    page.click("#theme")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.get_attribute("html", "data-theme") == "light"
    assert page.locator("#tree-chart .main-svg").first.bounding_box()["width"] <= 700
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute("html", "data-theme") == "dark"


def test_hostile_names_stay_text(open_report, hostile):
    page = open_report(hostile)
    assert page.inner_text("h1") == PAYLOAD
    assert page.title() == PAYLOAD
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img, iframe, object, embed, form, svg a").count() == 0
    assert page.locator("main a:not([href^='#'])").count() == 0
    assert page.locator("script").count() == 4  # data, packed library, the page's own, and the unpacked library
    names = page.locator("*").evaluate_all("(all) => all.flatMap((element) => element.getAttributeNames())")
    assert not [name for name in names if name.startswith("on")]
    assert f"{PAYLOAD} 0" in page.inner_text("#cut-table tbody")
    # charts read some HTML, make links of it and fill in templates, but not here
    assert page.locator("#scatter .annotation-text").text_content() == f"\u2191 {PAYLOAD[:44]}\u2026"
    page.evaluate("Plotly.Fx.hover('scatter', [{ curveNumber: 0, pointNumber: 5 }])")
    assert PAYLOAD in page.locator("#scatter .hovertext").text_content().replace("\u00a0", " ")
    page.locator("#tree-chart g.slice").nth(1).hover()
    assert PAYLOAD in page.locator("#tree-chart .hovertext").text_content().replace("\u00a0", " ")
    assert page.locator("svg a").count() == 0
    assert page.troubles == []


@pytest.mark.slow
def test_a_script_that_got_in_could_neither_run_nor_send(narrow, server):
    page = narrow
    image = f'<img src="{server.url}/image" onerror="hacked=1">'
    page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", image)
    page.evaluate(
        "() => document.body.append(Object.assign(document.createElement('script'), { textContent: 'hacked=1' }))"
    )
    assert page.evaluate("(url) => fetch(url).then(() => 'sent', () => 'refused')", server.url) == "refused"
    page.wait_for_timeout(200)
    assert page.evaluate("typeof hacked") == "undefined"
    assert server.asked == []
    page.troubles.clear()  # the browser says what it refused


def test_a_browser_that_cannot_unpack_is_told_so(browser, digits):
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(digits.path.as_uri())
    assert "too old for the charts" in page.inner_text("#trouble")
    context.close()


def test_without_a_script_the_rest_of_the_report_is_there(browser, digits):
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(digits.path.as_uri())
    assert "need JavaScript" in page.inner_text("noscript")
    assert page.locator(".card").count() == min(12, digits.model.n_clusters_)
    assert page.locator(".finding").count() >= 4
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    context.close()
