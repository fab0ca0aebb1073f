"""Turn the dict of ``summarize`` into one HTML page that contains its style, script and data.

The summary contains text from users, which must not be executed: Jinja escapes text in the page, the data of the script
is compressed to base64, and the script adds text as text nodes. Even if some text were not escaped, the page's content
security policy allows only the script whose hash it names, and no network access.
"""

from __future__ import annotations

import base64
import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.optional import import_optional
from cohirf.plotting.colours import HUES, NOISE, ROUNDS, cluster_colours, for_dark_page, readable_on, to_hex, to_rgb
from cohirf.report.packing import compress_to_text

PAGE = Path(__file__).parent / "page"
# The script is these files, one after the other, in one function: each answers one question.
SCRIPTS = (
    "unpack",
    "text",
    "dom",
    "theme",
    "state",
    "address",
    "map",
    "tree",
    "slider",
    "strip",
    "distributions",
    "cards",
    "heatmap",
    "odd_rows",
    "script",
    "downloads",
    "levels",
    "main",
)
FOR_SCRIPT = (
    "figures",
    "suggestion",
    "columns",
    "clusters",
    "cuts",
    "final",
    "numbers",
    "merge",
    "points",
    "merges",
    "heatmap",
    "odd",
    "labels",
    "row_names",
    "contraction",
)  # parts of the summary that the script needs
N_COLOURS = len(HUES) * len(ROUNDS)  # with more clusters, colours repeat
MINUS = "\N{MINUS SIGN}"


def render(summary: dict[str, Any]) -> str:
    """Return a page that shows a summary.

    Parameters
    ----------
    summary : dict
        The return value of ``summarize``.

    Returns
    -------
    page : str
        HTML that needs no other file and no network.
    """
    trusted = import_optional("markupsafe", "report", "A report").Markup
    palette = make_palette()
    script = read_script()
    content = {name: summary[name] for name in FOR_SCRIPT}
    content |= {"palette": palette, "run": {"script": summary["run"]["script"]}}
    page: str = _template().render(
        summary,
        policy=_policy(_hash(script)),
        style=trusted((PAGE / "style.css").read_text(encoding="utf-8") + _colour_rules(palette)),
        script=trusted(script),
        data=trusted(compress_json(content)),
    )
    return page


def compress_json(content: Any) -> str:
    """Return JSON that is compressed to base64, which has no characters with a meaning in HTML."""
    text = json.dumps(content, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return compress_to_text(text.encode("utf-8"))


@cache
def read_script() -> str:
    """Return the script of the page."""
    parts = [(PAGE / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return "\n".join(['"use strict";', "(async () => {", *parts, "})();"])


def make_palette() -> dict[str, list[str]]:
    """Return the colours of clusters in light and in dark mode; the last colour is that of noise."""
    light = np.vstack([cluster_colours(np.arange(N_COLOURS)), to_rgb(NOISE)])
    return {"light": to_hex(light), "dark": to_hex(for_dark_page(light))}


def thousands(value: int) -> str:
    """Return a count with commas between groups of three digits."""
    return f"{value:,}"


def percent(share: float) -> str:
    """Return a share in percent, with one decimal if it is below 10%."""
    return f"{share:.1%}" if 0 < share < 0.1 else f"{share:.0%}"


def decimal(value: float | None, digits: int = 2) -> str:
    """Return a number with ``digits`` decimals, or a dash for None."""
    return "\N{EN DASH}" if value is None else f"{value:.{digits}f}".replace("-", MINUS)


def significant(value: float) -> str:
    """Return a number with three significant digits, or as an integer from 1,000 on."""
    return (f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}").replace("-", MINUS)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun in the singular or plural."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


FILTERS = (thousands, percent, decimal, significant, plural)


def render_update(content: dict[str, Any]) -> str:
    """Return a page about the updates of a model, which needs no script."""
    trusted = import_optional("markupsafe", "report", "A report").Markup
    style = trusted((PAGE / "style.css").read_text(encoding="utf-8") + _colour_rules(make_palette()))
    page: str = _template("update.html").render(content, policy=_policy("none"), style=style)
    return page


@cache
def _template(name: str = "template.html") -> Any:
    jinja2 = import_optional("jinja2", "report", "A report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(PAGE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {function.__name__: function for function in FILTERS}
    return environment.get_template(name)


def _policy(*script_hashes: str) -> str:
    scripts = " ".join(f"'{script_hash}'" for script_hash in script_hashes)
    return (
        f"default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; "
        f"base-uri 'none'; form-action 'none'"
    )


def _hash(script: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode("ascii")


def _colour_rules(palette: dict[str, list[str]]) -> str:
    """Return one CSS rule for the colour of each cluster, and one for noise."""
    names = [*map(str, range(N_COLOURS)), "noise"]
    rules = zip(names, palette["light"], palette["dark"], strict=True)
    return "".join(
        f".c-{name}{{--on-light:{light};--ink-on-light:{ink_on(light)};--on-dark:{dark};--ink-on-dark:{ink_on(dark)}}}\n"
        for name, light, dark in rules
    )


def ink_on(colour: str) -> str:
    """Return black or white, whichever is easier to read on a colour."""
    return readable_on(to_rgb(colour)[None])[0]
