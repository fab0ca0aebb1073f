"""Run the tutorial, and write its output and its pictures: ``python docs/make_tutorial.py``.

Text and pictures come from the same run. It takes the extra ``dev`` and, for the picture of the
report, Chromium.
"""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent))
sys.path.insert(0, str(DOCS))

from make_report_screenshots import DESKTOP, take_screenshots  # noqa: E402 - found from here on
from tools import pages  # noqa: E402

PAGE = DOCS / "tutorial.rst"
# which the tutorial writes
REPORT = Path("report.html")
HEATMAP = Path("heatmap.png")


def main() -> None:
    """Write the page and its pictures."""
    text = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        written = pages.run_page(text)
        take_screenshots(REPORT, [("tutorial-report", DESKTOP, "light", None)], DOCS / "images")
        picture = Image.open(HEATMAP).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        picture.save(DOCS / "images" / "tutorial-heatmap.png", optimize=True)
    PAGE.write_text(written, encoding="utf-8")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
