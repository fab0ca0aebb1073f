"""The display of a hierarchy in notebooks: its tree, or the sizes of its levels and clusters if it has no tree."""

from __future__ import annotations

import math
from collections.abc import Callable
from html import escape

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.hierarchy.outline import Node, Outline

N_CLUSTERS = 8
BLUE, GREEN, ORANGE = "#0072B2", "#009E73", "#D55E00"
ROW, TREE, TEXT, LETTER = 22, 240, 13, 6.6  # pixels: a leaf, the width of the tree, the font and one letter of it
MAX_TEXT = 90  # characters beside a leaf


def draw_tree(outline: Outline, title: str, say: Callable[[Node], str]) -> str:
    """Return the tree as SVG: the root on the left, the leaves below each other on the right.

    Parameters
    ----------
    outline : Outline
        The tree.
    title : str
        A line above it.
    say : callable
        Function of a leaf that returns the text beside it.

    Returns
    -------
    html : str
        HTML that follows the colours of the notebook, light or dark.
    """
    leaves = [node for node in outline.root.walk() if not node.children]
    texts = [_cut(say(leaf)) for leaf in leaves]
    place = {leaf.groups: ROW * (number + 0.5) for number, leaf in enumerate(leaves)}
    lines: list[str] = []
    _add_branches(outline.root, outline.root.height or 1.0, place, lines)
    discs = [
        f"<circle cx='{TREE}' cy='{place[leaf.groups]:.1f}' r='{_radius(leaf.size, outline.root.size):.1f}' "
        f"fill='{BLUE if leaf.cluster is not None else ORANGE}'/>"
        f"<text x='{TREE + 16}' y='{place[leaf.groups]:.1f}' dominant-baseline='central'>{escape(text)}</text>"
        for leaf, text in zip(leaves, texts, strict=True)
    ]
    width, height = TREE + 32 + LETTER * max(map(len, texts)), ROW * len(leaves)
    return (
        f"<div style='font-family:sans-serif;font-size:{TEXT}px;margin-top:6px;overflow-x:auto'>"
        f"<b>{escape(title)}</b><br>"
        f"<svg role='img' aria-label='{escape(title, quote=True)}' width='{width:.0f}' height='{height:.0f}' "
        f"style='fill:currentColor;font-size:{TEXT}px'>"
        f"<path d='{''.join(lines)}' fill='none' stroke='currentColor' stroke-opacity='.55'/>{''.join(discs)}"
        "</svg></div>"
    )


def _add_branches(
    node: Node, highest: float, place: dict[tuple[int, ...], float], lines: list[str]
) -> tuple[float, float]:
    """Add the lines below a node, and return its place."""
    if not node.children:
        return TREE, place[node.groups]
    x = 4 + (TREE - 24) * (1 - node.height / highest)
    ends = [_add_branches(child, highest, place, lines) for child in node.children]
    lines += [f"M{x:.1f} {y:.1f}H{end:.1f}" for end, y in ends]
    lines.append(f"M{x:.1f} {ends[0][1]:.1f}V{ends[-1][1]:.1f}")
    return x, sum(y for _, y in ends) / len(ends)


def _radius(size: int, total: int) -> float:
    return 2.5 + 6 * math.sqrt(size / max(total, 1))


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1].rstrip()}\N{HORIZONTAL ELLIPSIS}"


def summarize(counts: IntArray, sizes: IntArray, medoids: IntArray, n_rows: int) -> str:
    """Return HTML with a bar for each level and for each of the largest clusters."""
    levels = [
        _bar(f"level {level}", f"{count:,} clusters", math.log(count + 1) / math.log(counts[0] + 1), BLUE)
        for level, count in enumerate(counts.tolist())
    ]
    largest = np.argsort(-sizes, kind="stable")[:N_CLUSTERS]
    clusters = [
        _bar(f"medoid {medoids[k]}", f"{sizes[k]:,} rows", sizes[k] / sizes.max(), GREEN) for k in largest.tolist()
    ]
    rest = len(sizes) - len(largest)
    note = f"<div style='opacity:.7'>and {rest:,} smaller ones</div>" if rest else ""
    return (
        "<div style='font-family:sans-serif;font-size:13px;max-width:640px'>"
        f"<b>Cluster Fusion Hierarchy</b> of {n_rows:,} rows"
        f"<div style='display:flex;flex-wrap:wrap;gap:24px;margin-top:6px'>"
        f"<div style='flex:1 1 260px'>{''.join(levels)}</div>"
        f"<div style='flex:1 1 260px'>{''.join(clusters)}{note}</div></div></div>"
    )


def _bar(name: str, value: str, share: float, colour: str) -> str:
    width = max(1.0, 100 * share)
    return (
        "<div style='display:grid;grid-template-columns:90px 1fr 110px;gap:8px;align-items:center'>"
        f"<span>{name}</span>"
        f"<span style='background:{colour};height:10px;width:{width:.1f}%;border-radius:2px'></span>"
        f"<span style='text-align:right'>{value}</span></div>"
    )
