"""The report in a browser: headless Chromium opens it from disk, as a reader would."""

import csv
import os
import re
import shutil
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_moons

from cohirf import CoHiRF
from cohirf.app.explain import report, write_report
from cohirf.app.explain.cuts import find_cuts
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.sections import Section
from cohirf.app.preparation import prepare
from cohirf.store.models import Origin

playwright = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed: pip install playwright"
)


CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


pytestmark = pytest.mark.skipif(
    CHROMIUM is None, reason="Chromium is not installed: apt-get install chromium"
)


PAYLOAD = (
    '"><img src=x onerror="hacked=1"><script>hacked=1</script><a '
    'href="https://example.org">%{x}$x$</a>'
)


PATIENCE = 120_000  # milliseconds: a busy machine is no failure


@pytest.fixture(scope="module")
def browser():
    # Chromium has none for root
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def open_report(browser):
    """Return a function that opens a report.

    When the tests are over, nothing has gone wrong in any.
    """
    troubles = []
    contexts = []

    def open_file(path, **settings):
        context = browser.new_context(**settings)
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("dialog", lambda dialog: troubles.append(dialog.message))
        page.on(
            "request",
            lambda request: troubles.append(request.url) if request.url != path.as_uri() else None,
        )
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
    X = X[:200]
    y = y[:200]
    model = CoHiRF.as_published(
        KMeans(10, n_init=1), views=2, max_features=0.7, min_cluster_size=4, random_state=0
    ).fit(X)
    assert model.hierarchy_.n_levels >= 3
    assert (model.labels_ < 0).any()
    path = tmp_path_factory.mktemp("digits") / "report.html"
    write_report(model, X, path, y=y, ids=[f"digit {i}" for i in range(200)], title="Digits")
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
    """The report of the digits as it is when it is opened: at the cut of the fit, nothing selected,
    light.
    """
    opened.evaluate("() => { location.hash = ''; }")
    opened.fill("#search", "")
    if opened.locator("#found .chip").count():
        opened.click("#found .chip")
    choose_cut(opened, digits.final)
    if opened.get_attribute("html", "data-theme") == "dark":
        opened.click("#theme")
    opened.mouse.move(0, 0)
    wait_for_picture(opened)
    yield opened
    assert opened.troubles == []


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, blobs):
    """A report in which every text that a user can give is hostile, in a file whose name is odd."""
    X, y = blobs
    model = CoHiRF.as_published(KMeans(3), views=2, random_state=0).fit(X[:, :2])
    path = tmp_path_factory.mktemp("hostile") / "a #%report.html"
    names = [f"{PAYLOAD} {i}" for i in range(2)]
    classes = [f"{PAYLOAD} {k}" for k in y]
    texts = dict.fromkeys(("title", "data_name"), PAYLOAD)
    origin = Origin(PAYLOAD, {"drop": [PAYLOAD]}, PAYLOAD)
    ids = [f"{PAYLOAD} row {i}" for i in range(len(X))]
    return write_report(
        model, X[:, :2], path, y=classes, feature_names=names, origin=origin, ids=ids, **texts
    )


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
    """Move the slider to a place, counted from the end with one cluster."""
    # moved at once: the page draws everything anew at every step
    if int(page.input_value("#cut")) != place:
        page.fill("#cut", str(place))
        wait_for_picture(page)


def drawn(page):
    """Return the map as text, to see whether it has changed."""
    return page.evaluate("document.getElementById('map').toDataURL()")


def saved(page, button):
    """Press a button, and return the name of the file and its lines."""
    with page.expect_download() as download:
        page.click(button)
    with Path(download.value.path()).open(encoding="utf-8", newline="") as file:
        return download.value.suggested_filename, list(csv.reader(file))


def numbers_on_cards(page):
    return [int(text) for text in page.locator("#cards .badge").all_inner_texts()]


@pytest.mark.parametrize(
    ("pages", "width", "scheme"),
    [pytest.param("narrow", 390, "dark", marks=pytest.mark.slow), ("opened", 1280, "light")],
)
def test_it_fits_and_follows_the_theme_of_the_system(pages, scheme, width, request):
    page = request.getfixturevalue(pages)
    assert page.get_attribute("html", "data-theme") == scheme
    # nothing sticks out at the side
    assert page.evaluate("document.documentElement.scrollWidth") == width
    for chart in ("map", "tree", "curve"):
        box = page.locator(f"#{chart}").bounding_box()
        assert box["width"] > 150
        assert box["x"] + box["width"] <= width
    assert page.troubles == []


def test_the_slider_changes_map_tree_cards_and_text(page, digits):
    maps = set()
    places = [0, 4, digits.final - 1, digits.final + 1]
    for place in places:
        choose_cut(page, place)
        cut = digits.cuts[place]
        clusters = f"{cut.n_clusters:,} cluster{'s'[: cut.n_clusters > 1]}"
        assert page.inner_text("#cut-text b") == clusters
        assert page.get_attribute("#cut", "aria-valuetext").startswith(clusters)
        assert numbers_on_cards(page) == cut.largest(12).tolist()
        sizes = page.locator(".card .size b").all_inner_texts()
        assert [int(size) for size in sizes] == cut.size[cut.largest(12)].tolist()
        assert page.locator("#tree .disc").count() == cut.n_clusters
        maps.add(drawn(page))
    assert len(maps) == len(places)


def test_keys_move_the_slider_by_one_step(page, digits):
    page.focus("#cut")
    for key, step in (("ArrowRight", 1), ("ArrowLeft", 0), ("ArrowLeft", -1)):
        page.keyboard.press(key)
        cut = digits.cuts[digits.final + step]
        playwright.expect(page.locator("#cut-text b")).to_have_text(
            re.compile(rf"^{cut.n_clusters:,} cluster")
        )


@pytest.mark.slow
def test_the_suggested_number_is_marked_and_a_button_leads_to_it(page, digits):
    assert page.locator("#curve .suggested").count() == 1
    number = int(page.inner_text("#back").removeprefix("Suggested: "))
    page.click("#back")
    wait_for_picture(page)
    assert digits.cuts[int(page.input_value("#cut"))].n_clusters == number
    assert "suggested" in page.inner_text("#cut-text")
    assert page.locator("#back").is_disabled()
    assert f"{number} clusters are suggested" in page.inner_text("#why-number")


def test_names_and_the_number_of_clusters_are_kept_in_the_address(open_report, digits):
    page = open_report(digits.path)
    choose_cut(page, 2)
    name = page.locator(".card h3").first
    made = name.inner_text()
    name.fill("My group, 50% & more")
    name.press("Enter")
    wait_for_picture(page)
    assert "clusters=3" in page.url
    again = page.context.new_page()
    again.goto(page.url)
    again.wait_for_selector("html[data-ready]")
    assert int(again.input_value("#cut")) == 2
    assert again.locator(".card h3").first.inner_text() == "My group, 50% & more"
    again.locator(".card h3").first.fill("")
    again.locator(".card h3").first.press("Enter")
    assert again.locator(".card h3").first.inner_text() == made
    assert "name-" not in again.url


def test_downloads_have_labels_ids_and_names(page, digits):
    for place in (0, 3, digits.final, len(digits.cuts) - 1):
        choose_cut(page, place)
        file, (head, *lines) = saved(page, "#save-labels")
        assert file == f"labels-{digits.cuts[place].n_clusters}-clusters.csv"
        assert head == ["id", "row", "cluster", "name"]
        assert [line[0] for line in lines] == [f"digit {i}" for i in range(200)]
        assert [int(line[1]) for line in lines] == list(range(200))
        assert [int(line[2]) for line in lines] == digits.cuts[place].labels.tolist()


@pytest.mark.slow
def test_a_new_name_is_in_both_downloads(page, digits):
    choose_cut(page, 2)
    number = numbers_on_cards(page)[0]
    page.locator(".card h3").first.fill("=cmd")
    page.locator(".card h3").first.press("Enter")
    _, (_, *rows) = saved(page, "#save-labels")
    # a spreadsheet does not run it
    assert {row[3] for row in rows if int(row[2]) == number} == {"'=cmd"}
    _, (head, *clusters) = saved(page, "#save-clusters")
    assert head == ["cluster", "name", "rows", "share", "most typical", "features"]
    assert [row[1] for row in clusters if int(row[0]) == number] == ["'=cmd"]
    page.locator(".card h3").first.fill("")
    page.locator(".card h3").first.press("Enter")


@pytest.mark.slow
def test_where_labels_do_not_fit_those_of_the_drawn_rows_are_downloaded_and_it_says_so(
    open_report, digits, tmp_path, monkeypatch
):
    monkeypatch.setitem(vars(PAGE), "labelled_rows", 100)
    page = open_report(write_report(digits.model, digits.X, tmp_path / "part.html", max_points=60))
    choose_cut(page, 6)
    note = page.inner_text("#download-note")
    assert "The labels are those of the 60 rows on the map" in note
    assert "model.hierarchy_.cut(n_clusters=7) returns all of them" in note
    _, (_, *lines) = saved(page, "#save-labels")
    rows = [int(line[0]) for line in lines]
    assert len(rows) == 60
    assert [int(line[1]) for line in lines] == digits.model.hierarchy_.cut(n_clusters=7)[
        rows
    ].tolist()


def test_a_search_finds_clusters_and_many_have_pages(page, digits):
    choose_cut(page, len(digits.cuts) - 1)
    n_clusters = digits.cuts[-1].n_clusters
    assert n_clusters > 12
    assert page.inner_text("#page-text") == f"1\u201312 of {n_clusters}"
    first = numbers_on_cards(page)
    page.click("#next")
    assert not set(first) & set(numbers_on_cards(page))
    name = page.locator(".card h3").nth(1).inner_text()
    page.fill("#search", name)
    playwright.expect(page.locator("#found")).to_have_text(
        re.compile("^[1-9]+ clusters? found"), timeout=PATIENCE
    )
    assert name in page.locator(".card h3").all_inner_texts()
    page.fill("#search", "nothing is called so")
    playwright.expect(page.locator(".card")).to_have_count(0, timeout=PATIENCE)
    assert page.inner_text("#found") == "0 clusters found."


def test_pointing_at_the_map_marks_the_tree_and_the_other_way_round(page):
    page.evaluate("before = document.getElementById('map').toDataURL()")
    drawn_now = "document.getElementById('map').toDataURL()"
    page.locator("#tree .branch .disc").first.hover()
    page.wait_for_function(f"{drawn_now} !== before")  # other clusters fade
    assert page.locator("#tip b").inner_text()
    page.mouse.move(0, 0)
    page.wait_for_function(f"{drawn_now} === before")
    assert page.locator("#tree .on").count() == 0
    page.locator("#map").scroll_into_view_if_needed()
    box = page.locator("#map").bounding_box()
    for x in range(10, 100, 3):
        page.mouse.move(box["x"] + box["width"] * x / 100, box["y"] + box["height"] / 2)
        wait_for_picture(page)
        if page.locator("#tree .branch.on").count():
            break
    assert page.locator("#tree .branch.on").count() == 1
    assert page.inner_text("#tip b") != "noise"


def test_a_section_follows_names_and_keeps_to_the_clusters_of_the_fit(
    open_report, digits, tmp_path, monkeypatch
):
    template = (
        '{% from "macros.html" import cluster with context %}<section id="all" tabindex="-1">'
        "{% for label in all %}<p>{{ cluster(label) }}</p>{% endfor %}</section>"
    )
    labels = list(range(digits.model.n_clusters_))
    section = Section("all", "All clusters", lambda made: labels, template=template)
    monkeypatch.setattr(report, "SECTIONS", (*report.SECTIONS, section))
    page = open_report(write_report(digits.model, digits.X, tmp_path / "report.html"))
    named = page.locator("#all .cluster > span:last-child")
    made = named.all_text_contents()
    name = page.locator(".card h3").first
    old = name.inner_text()
    name.fill("My group")
    name.press("Enter")
    assert named.all_text_contents() == ["My group" if one == old else one for one in made]
    page.click("#less")  # another cut
    page.wait_for_function("() => document.querySelector('#title').textContent.includes('cut')")
    assert named.all_text_contents() == ["My group" if one == old else one for one in made]


@pytest.mark.slow
def test_a_selected_branch_selects_its_cards(page, digits):
    page.locator("#tree .branch .disc").nth(1).click()
    assert page.locator(".card").count() == 1
    number = numbers_on_cards(page)[0]
    assert page.locator("#tree .branch.on .number").all_text_contents() == [str(number)]
    assert page.locator("#heatmap tbody tr:not(.all)").count() == 1
    page.click("#found .chip")
    assert page.locator(".card").count() == min(12, digits.model.n_clusters_)


def test_everything_can_be_reached_by_keyboard_and_shows_where_it_is(page):
    page.evaluate("() => { document.activeElement.blur(); scrollTo(0, 0); }")
    page.locator(".skip").focus()
    reached = []
    for _ in range(200):
        page.keyboard.press("Tab")
        place, is_visible = page.evaluate(
            "() => { const at = document.activeElement;"
            " return [at.closest('[id]')?.id ?? '', getComputedStyle(at).outlineStyle !== "
            "'none']; }"
        )
        if place == "save-script":
            break
        assert is_visible, place
        reached.append(place)
    steps = [
        reached.index(place)
        for place in ("theme", "cut", "tree", "save-labels", "search", "cards", "compare")
    ]
    assert steps == sorted(steps)


@pytest.mark.slow
def test_keys_move_in_the_tree_and_select(page):
    page.focus("#tree")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    told = page.inner_text("#tree-told")
    assert told.endswith("rows")
    page.keyboard.press("Enter")
    assert page.locator(".card").count() == 1
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowLeft")
    assert "clusters together" in page.inner_text("#tree-told")
    page.focus("#theme")
    page.keyboard.press("Enter")
    assert page.get_attribute("html", "data-theme") == "dark"


@pytest.mark.slow
def test_controls_and_charts_have_names_for_those_who_cannot_see_them(page):
    assert page.get_by_role("slider", name="Number of clusters").count() == 1
    assert page.get_by_role("button", name="Dark mode").count() == 1
    assert page.get_by_role("button", name="Download labels (CSV)").count() == 1
    assert page.get_by_role("img", name="Map of rows, coloured by cluster").count() == 1
    assert page.get_by_role("heading", level=1).inner_text().endswith("in no cluster.")
    nameless = page.locator(
        "button, input, img, select, [role=img], [role=region], [role=textbox]"
    ).evaluate_all(
        "(elements) => elements.filter((element) => !(element.textContent.trim() || "
        "element.ariaLabel || element.alt || element.labels?.length || "
        "element.getAttribute('aria-labelledby'))).length"
    )
    assert nameless == 0


@pytest.mark.slow
def test_the_theme_changes_the_charts_too(page):
    light = drawn(page)
    page.click("#theme")
    assert page.get_attribute("#theme", "aria-pressed") == "true"
    assert drawn(page) != light


@pytest.mark.slow
def test_on_paper_it_is_light_and_everything_is_open(page):
    page.click("#theme")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.get_attribute("html", "data-theme") == "light"
    assert page.locator("details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.get_attribute("html", "data-theme") == "dark"


@pytest.mark.slow
def test_the_script_ends_with_the_cut_that_is_shown(page):
    assert page.inner_text("#script").endswith("labels = model.fit(X).labels_")
    choose_cut(page, 2)
    assert page.inner_text("#script").endswith("labels = model.hierarchy_.cut(n_clusters=3)")


def test_hostile_names_stay_text(open_report, hostile):
    page = open_report(hostile)
    assert page.inner_text(".eyebrow") == PAYLOAD
    assert page.title() == PAYLOAD
    assert page.evaluate("typeof hacked") == "undefined"
    assert page.locator("img, iframe, object, embed, form, svg a").count() == 0
    assert page.locator("main a:not([href^='#'])").count() == 0
    assert page.locator("script").count() == 2  # the data, and the page's own
    names = page.locator("*").evaluate_all(
        "(all) => all.flatMap((element) => element.getAttributeNames())"
    )
    assert not [name for name in names if name.startswith("on")]
    assert f"{PAYLOAD} 0" in page.inner_text("#cards")
    assert f"{PAYLOAD} row" in page.inner_text("#cards")
    page.locator("#tree .branch .disc").first.hover()
    assert "<img" in page.inner_text("#tip")
    assert page.troubles == []


@pytest.mark.slow
def test_a_script_that_got_in_could_neither_run_nor_send(narrow, server):
    page = narrow
    image = f'<img src="{server.url}/image" onerror="hacked=1">'
    page.evaluate("(html) => document.body.insertAdjacentHTML('beforeend', html)", image)
    page.evaluate(
        "() => document.body.append(Object.assign(document.createElement('script'), { "
        "textContent: 'hacked=1' }))"
    )
    assert (
        page.evaluate("(url) => fetch(url).then(() => 'sent', () => 'refused')", server.url)
        == "refused"
    )
    page.wait_for_timeout(200)
    assert page.evaluate("typeof hacked") == "undefined"
    assert server.asked == []
    page.troubles.clear()  # the browser says what it refused


@pytest.mark.slow
def test_a_browser_that_cannot_unpack_is_told_so(browser, digits):
    context = browser.new_context()
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.add_init_script("delete globalThis.DecompressionStream")
    page.goto(digits.path.as_uri())
    assert "too old for this page" in page.inner_text("#trouble")
    context.close()


@pytest.mark.slow
def test_without_a_script_the_rest_of_the_report_is_there(browser, digits):
    context = browser.new_context(java_script_enabled=False, color_scheme="dark")
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    page.goto(digits.path.as_uri())
    assert "need JavaScript" in page.locator("noscript").inner_text()
    assert page.locator("noscript tbody tr").count() == digits.model.n_clusters_
    assert page.locator(".finding").count() >= 2
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 28)"
    context.close()


def test_clusters_of_an_updated_model_keep_their_numbers(open_report, tmp_path):
    left, right, far = np.random.default_rng(0).normal(size=(3, 60, 2)) * 0.2 + [
        [[0, 0]],
        [[3, 0]],
        [[9, 9]],
    ]
    bridge = np.column_stack([np.linspace(0, 3, 60), np.zeros(60)])
    first = np.vstack([left, right])
    second = np.vstack([bridge, far])
    model = CoHiRF(DBSCAN(0.4), random_state=0).partial_fit(first).partial_fit(second)
    assert model.cluster_numbers_.tolist() == [0, 2]
    write_report(model, np.vstack([first, second]), tmp_path / "report.html")
    page = open_report(tmp_path / "report.html")
    assert set(page.locator("#cards .badge").all_inner_texts()) == {"0", "2"}
    assert set(page.locator("#tree .number").all_text_contents()) == {"0", "2"}


def test_the_map_shows_the_other_merge_too(open_report, tmp_path):
    X, _ = make_moons(300, noise=0.03, random_state=0)
    write_report(CoHiRF(n_clusters=2, random_state=0).fit(X), X, tmp_path / "report.html")
    page = open_report(tmp_path / "report.html")
    fitted = drawn(page)
    page.get_by_role("button", name="Other: compact").click()
    assert drawn(page) != fitted
    coloured = r"Coloured by the clusters of the compact merge: \d+% of these rows change"
    assert re.search(coloured, page.inner_text("#map-note"))
    page.get_by_role("button", name="Other: graph").click()
    assert "Coloured by the clusters of the graph merge: 0% of" in page.inner_text("#map-note")
    page.get_by_role("button", name="Other: compact").click()
    choose_cut(page, 2)
    assert "Coloured by the clusters of the compact merge" in page.inner_text("#map-note")
    choose_cut(page, 1)
    page.get_by_role("button", name="As fitted: connected").click()
    assert drawn(page) == fitted
    assert 'fit with merge="compact"' in page.inner_text("#why-merge")


@pytest.mark.parametrize("width", [390, 1280])
def test_buttons_of_the_map_cover_no_rows(open_report, tmp_path, width):
    X, _ = make_moons(300, noise=0.03, random_state=0)
    write_report(CoHiRF(n_clusters=2, random_state=0).fit(X), X, tmp_path / "report.html")
    page = open_report(tmp_path / "report.html", viewport={"width": width, "height": 900})
    buttons = page.locator(".kinds button")
    assert buttons.count() == 3
    boxes = [button.bounding_box() for button in buttons.all()]
    assert (
        max(box["y"] + box["height"] for box in boxes) <= page.locator("#map").bounding_box()["y"]
    )


@pytest.fixture(scope="module")
def write_long_page(tmp_path_factory):
    """Return a function that writes a page with names of 60 characters."""

    def write(n_clusters, n_columns):
        rng = np.random.default_rng(0)
        group = np.arange(30 * n_clusters) % n_clusters
        scales = 10.0 ** rng.integers(-3, 8, n_columns)
        values = 5 * rng.normal(size=(n_clusters, n_columns))[group]
        values = scales * (values + rng.normal(size=values.shape))
        names = [f"{place}_turnover_of_the_store".ljust(60, "_") for place in range(n_columns)]
        frame = pd.DataFrame(values, columns=names)
        frame["level of the customers".ljust(60, ".")] = [
            f"level {one} ".ljust(60, "x") for one in group
        ]
        data = prepare(frame)
        model = CoHiRF(n_clusters=n_clusters, random_state=0).fit(data.array())
        path = tmp_path_factory.mktemp("long") / "report.html"
        return write_report(model, data, path, data_name="a name of a file without end.csv")

    return write


# text that sticks out of its box, where nothing scrolls or is cut off; a heading reaches into the
# padding around it
STICKING_OUT = """() => [...document.querySelectorAll("main *, header *")].filter((one) =>
    one.clientWidth && !one.closest(".scroll, svg, .sr, .card header")
    && getComputedStyle(one).overflowX === "visible" && getComputedStyle(one).display !== "inline"
    && one.scrollWidth > one.clientWidth + 1).map((one) => one.outerHTML.slice(0, 200))"""


@pytest.mark.parametrize(
    ("n_clusters", "n_columns"),
    [(2, 2), *(pytest.param(*size, marks=pytest.mark.slow) for size in ((3, 200), (20, 40)))],
)
def test_names_of_sixty_characters_fit(open_report, write_long_page, n_clusters, n_columns):
    path = write_long_page(n_clusters, n_columns)
    for width in (390, 1280):
        for scheme in ("light", "dark"):
            size = {"width": width, "height": 900}
            page = open_report(path, viewport=size, color_scheme=scheme)
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert page.evaluate(STICKING_OUT) == []
            assert "e+" not in page.inner_text("#cards")
            assert page.locator("#opening li").count() >= 2
            page.context.close()


def test_the_title_follows_the_slider(page, digits):
    choose_cut(page, digits.final)
    title = page.inner_text("#title")
    assert page.locator("#opening.past").count() == 0
    choose_cut(page, digits.final + 1)
    n_clusters = digits.cuts[digits.final + 1].n_clusters
    assert page.inner_text("#title").startswith(f"{n_clusters} clusters in ")
    assert page.locator("#opening.past").count() == 1
    choose_cut(page, digits.final)
    assert page.inner_text("#title") == title


def test_discs_do_not_hide_each_other(page, digits):
    choose_cut(page, digits.final)
    pairs = page.get_attribute("#map", "data-discs").split()
    found = [tuple(map(float, pair.split(","))) for pair in pairs]
    assert len(found) == digits.cuts[digits.final].n_clusters
    for place, one in enumerate(found):
        for other in found[:place]:
            assert np.hypot(one[0] - other[0], one[1] - other[1]) >= 20
