"""Make the screenshots of the page on reports: ``python docs/make_report_screenshots.py``.

It takes Chromium (``apt-get install chromium``), playwright and the extra ``report``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Page, sync_playwright
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from cohirf import CoHiRF
from cohirf.report import write_report

FOLDER = Path(__file__).parent / "user_guide" / "images"
DESKTOP = {"viewport": {"width": 1200, "height": 1060}, "device_scale_factor": 1}
PHONE = {"viewport": {"width": 390, "height": 844}, "device_scale_factor": 2, "has_touch": True, "is_mobile": True}

# name, screen, theme, the section at the top of the picture, and the number of clusters to cut at
SHOTS: list[tuple[str, dict[str, Any], str, str | None, int | None]] = [
    ("report-desktop-light", DESKTOP, "light", None, None),
    ("report-desktop-dark", DESKTOP, "dark", "cuts", 6),
    ("report-phone-light", PHONE, "light", "clusters", None),
    ("report-phone-dark", PHONE, "dark", "hierarchy", None),
]


def write_digits(path: Path) -> None:
    """Write the report that is photographed."""
    X, y = load_digits(return_X_y=True)
    model = CoHiRF(KMeans(10), n_views=3, max_features=0.6, medoid_weights=True, min_cluster_size=5, random_state=0)
    names = [f"pixel {line},{column}" for line in range(8) for column in range(8)]
    write_report(model.fit(X), X, path, y=y, feature_names=names, image_shape=(8, 8), title="Handwritten digits")


def show(page: Page, section: str | None, n_clusters: int | None) -> None:
    """Scroll to a section, and move the slider."""
    if n_clusters is not None:
        page.focus("#cut")
        page.keyboard.press("Home")
        for _ in range(n_clusters - 1):
            page.keyboard.press("ArrowRight")
        page.evaluate("document.activeElement.blur()")
    if section is not None:
        page.evaluate(f"document.getElementById('{section}').scrollIntoView({{ behavior: 'instant' }})")
    page.wait_for_timeout(1500)


def save(shot: bytes, path: Path) -> None:
    """Save a screenshot with 256 colours, which is a third of its size."""
    Image.open(BytesIO(shot)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main() -> None:
    """Take all screenshots."""
    FOLDER.mkdir(exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as driver:
        report = Path(folder) / "digits.html"
        write_digits(report)
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        for name, screen, theme, section, n_clusters in SHOTS:
            page = browser.new_page(color_scheme=theme, **screen)
            page.goto(report.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            show(page, section, n_clusters)
            save(page.screenshot(), FOLDER / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main()
