"""Make the screenshots of the page on reports: ``python docs/make_report_screenshots.py``.

It takes Chromium (``apt-get install chromium``), playwright and the extra ``cli``.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from io import BytesIO
from pathlib import Path
from typing import Any

from examples.synthetic import write_customers
from PIL import Image
from playwright.sync_api import Page, sync_playwright

from cohirf.app.cli import main

FOLDER = Path(__file__).parent / "understand" / "images"
DESKTOP = {"viewport": {"width": 1200, "height": 1000}, "device_scale_factor": 1}
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "has_touch": True,
    "is_mobile": True,
}

# name, screen, theme, and the section at the top of the picture
Shot = tuple[str, dict[str, Any], str, str | None]
SHOTS: list[Shot] = [
    ("report-desktop-light", DESKTOP, "light", None),
    ("report-desktop-dark", DESKTOP, "dark", "clusters"),
    ("report-phone-light", PHONE, "light", None),
    ("report-phone-dark", PHONE, "dark", "cards"),
]


def write_customers_report(folder: Path) -> Path:
    """Write the report that is photographed, as the program does."""
    write_customers(folder / "customers.csv", 20_000, random_state=0)
    report = folder / "report.html"
    main(["fit", str(folder / "customers.csv"), "--report", str(report), "--quiet"])
    return report


def show(page: Page, section: str | None) -> None:
    """Scroll to a section."""
    if section is not None:
        page.evaluate(
            f"document.getElementById('{section}').scrollIntoView({{ behavior: 'instant' }})"
        )
    page.wait_for_timeout(500)


def save(shot: bytes, path: Path) -> None:
    """Save a screenshot with 256 colours, which is a third of its size."""
    Image.open(BytesIO(shot)).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(
        path, optimize=True
    )


def take_screenshots(report: Path, shots: list[Shot], folder: Path) -> None:
    """Take screenshots of a report."""
    folder.mkdir(exist_ok=True)
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium has none for root
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), args=sandbox)
        for name, screen, theme, section in shots:
            page = browser.new_page(color_scheme=theme, **screen)
            page.goto(report.absolute().as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            show(page, section)
            save(page.screenshot(), folder / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as written:
        take_screenshots(write_customers_report(Path(written)), SHOTS, FOLDER)
