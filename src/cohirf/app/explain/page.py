"""Turn the dict of ``summarize`` into one HTML page that contains its style, script and data.

The summary contains text from users, which must not be executed: Jinja escapes text in the page,
the data of the script is compressed to base64, and the script adds text as text nodes. Even if some
text were not escaped, the page's content security policy allows only the script whose hash it
names, and no network access.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.words import say_value
from cohirf.app.plotting.canvas import cluster_colours, for_dark_page, readable_on, to_hex, to_rgb
from cohirf.app.plotting.style import STYLE
from cohirf.optional import import_optional
from cohirf.wording import count_of, percent

if TYPE_CHECKING:
    from cohirf.app.explain.cuts import Cut
    from cohirf.app.explain.study import RowNames

# The script is these files, one after the other, in one function: each answers one question.
SCRIPTS = """
    unpack text dom theme state address map tree slider strip distributions cards heatmap odd_rows
    names script downloads levels main
"""
# Parts of the summary that the script needs.
FOR_SCRIPT = """
    figures suggestion columns clusters cuts final numbers merge points merges compare odd labels
    row_names contraction
"""


def pack(values: NDArray[Any]) -> dict[str, str]:
    """Return numbers as text for the script: type and base64, all first bytes first, because that
    compresses better.
    """
    low, high = (
        (int(values.min()), int(values.max()))
        if values.size and values.dtype.kind != "f"
        else (0, 0)
    )
    if values.dtype.kind == "f":
        dtypes: tuple[str, ...] = ("<f4",)
    elif low < 0:
        dtypes = ("<i1", "<i2", "<i4")
    else:
        dtypes = ("<u1", "<u2", "<u4")
    fits = (
        one
        for one in dtypes
        if one == "<f4" or np.iinfo(one).min <= low <= high <= np.iinfo(one).max
    )
    narrow = np.ascontiguousarray(values, dtype=next(fits))
    planes = narrow.reshape(-1, 1).view(np.uint8).T
    kind = {"u": "Uint", "i": "Int", "f": "Float"}[narrow.dtype.kind]
    return {
        "type": f"{kind}{8 * narrow.dtype.itemsize}",
        "data": compress_to_text(planes.tobytes()),
    }


def compress_to_text(content: bytes) -> str:
    """Return bytes as base64 text, compressed with zlib, which browsers can decompress."""
    return base64.b64encode(zlib.compress(content)).decode("ascii")


def pack_labels(
    cuts: Sequence[Cut], max_characters: int = PAGE.characters
) -> dict[str, Any] | None:
    """Return the labels of all rows at the finest cut whose labels fit into the page.

    None if those of no cut fit.
    """
    if len(cuts[0].leaf_of_row) > PAGE.labelled_rows:
        return None
    for number in range(len(cuts) - 1, -1, -1):
        if cuts[number].is_whole:
            labels = pack(cuts[number].labels)
            if len(labels["data"]) <= max_characters:
                return {"cut": number, "labels": labels}
    return None


def pack_names(
    row_names: RowNames | None, max_characters: int = PAGE.characters
) -> dict[str, Any] | None:
    """Return the names of all rows, one per line, and that of their column.

    ``names`` is None if they do not fit.
    """
    if row_names is None:
        return None
    lines = "\n".join(" ".join(name.split()) for name in row_names.names)
    can_fit = len(lines) <= PAGE.compression * max_characters
    if can_fit:
        packed = compress_to_text(lines.encode("utf-8", "replace"))
    else:
        packed = None
    fits = packed is not None and len(packed) <= max_characters
    return {"column": row_names.column, "names": packed if fits else None}


def render(summary: dict[str, Any]) -> str:
    """Return a page that shows a summary."""
    content = {name: summary[name] for name in FOR_SCRIPT.split()}
    content |= {"palette": make_palette(), "run": {"script": summary["run"]["script"]}}
    data = _trusted(compress_json(content))
    return _render("template.html", summary | {"data": data}, read_script(), "style.css")


def render_update(content: dict[str, Any]) -> str:
    """Return a page about the updates of a model, which needs no script."""
    return _render("update.html", content, "", "style.css")


def render_topics(content: dict[str, Any]) -> str:
    """Return a page of topics."""
    return _render(
        "topics.html",
        content,
        f'"use strict";\n{_read_file("topics.js")}',
        "style.css",
        "topics.css",
    )


@cache
def _load_template(name: str, jinja2: Any) -> Any:
    """Return a template: a file in ``html``, or the text itself.

    To compile one takes a third of the time of a small report.
    """
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_read_file),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    if name.endswith(".html"):
        return environment.get_template(name)
    return environment.from_string(name)


def _render(name: str, content: dict[str, Any], script: str, *styles: str) -> str:
    jinja2 = import_optional("jinja2", "report", "A report")
    template = _load_template(name, jinja2)
    palette = make_palette()
    rules = (
        f".c-{name}{{--on-light:{light};--ink-on-light:{ink_on(light)};--on-dark:{dark};--ink-on-dark:{ink_on(dark)}}}\n"
        for name, light, dark in zip(
            [*range(STYLE.n_colours), "noise"], palette["light"], palette["dark"], strict=True
        )
    )
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")
    allowed = f"'sha256-{digest}'" if script else "'none'"
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: "
        "blob:; base-uri 'none'; form-action 'none'"
    )
    style = _trusted("".join([*map(_read_file, styles), *rules]))
    content |= {"n_colours": STYLE.n_colours, "policy": policy, "style": style}
    sections = [
        section | {"template": _load_template(section["template"], jinja2)}
        for section in content.get("sections", [])
    ]
    page: str = template.render(content, sections=sections, script=_trusted(script))
    return page


def _trusted(text: str) -> Any:
    """Return text that is not escaped: our own, or such that has no characters with a meaning in
    HTML.
    """
    return import_optional("markupsafe", "report", "A report").Markup(text)


def _read_file(name: str) -> str:
    folder = files("cohirf.app.explain") / "html"  # may be a part of a zip file
    return (folder / name).read_text(encoding="utf-8")


def compress_json(content: Any) -> str:
    """Return JSON that is compressed to base64, which has no characters with a meaning in HTML."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return compress_to_text(text.encode("utf-8"))


@cache
def read_script() -> str:
    """Return the script of the page."""
    parts = [_read_file(f"{name}.js") for name in SCRIPTS.split()]
    return "\n".join(['"use strict";', "(async () => {", *parts, "})();"])


def make_palette() -> dict[str, list[str]]:
    """Return the colours of clusters in light and in dark mode.

    The last colour is that of noise.
    """
    light = np.vstack([cluster_colours(np.arange(STYLE.n_colours)), to_rgb(STYLE.noise)])
    return {"light": to_hex(light), "dark": to_hex(for_dark_page(light))}


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number with ``digits`` decimals, or a dash for None."""
    if value is None:
        return "\N{EN DASH}"
    return f"{value:.{digits}f}".replace("-", "\N{MINUS SIGN}")


FILTERS = {
    "thousands": "{:,}".format,
    "percent": percent,
    "decimal": decimal,
    "significant": lambda value: say_value(value).replace("-", "\N{MINUS SIGN}"),
    "plural": count_of,
}


def ink_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    return readable_on(to_rgb(colour)[None])[0]
