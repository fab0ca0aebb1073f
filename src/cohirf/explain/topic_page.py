"""A report on clusters of texts: topics as a tree of cards with typical texts and words, search, and a map."""

from __future__ import annotations

from dataclasses import asdict
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE

from cohirf.explain.page import N_COLOURS, render_topics
from cohirf.explain.pictures import make_thumbnail
from cohirf.explain.topics import Topic, Topics, take_entries
from cohirf.explain.words import shorten

MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 1100.0, 620.0, 50.0  # the largest circle is not cut off
COVERED = 0.12  # share of the map that all circles cover
SMALLEST_CIRCLE, LARGEST_CIRCLE = 3.0, 46.0  # radius
FEWEST_PLACED = 8  # topics; of fewer, the plane of the largest variance shows as much
MOST_LABELS = 40
LONGEST_TITLE = 24  # characters
OPEN = 12  # topics of the coarsest level that are opened at first, if there are no more


def draw_topics(topics: Topics, *, title: str, written: str, images: Any = None) -> str:
    """Return the page; typical rows are also shown as images, if there is one for each row."""
    found = topics.topics
    if images is not None and len(images) != len(topics.labels):
        raise ValueError(f"images has {len(images):,} entries, but the data has {len(topics.labels):,} rows.")
    pictures = _make_thumbnails(topics, images)
    n_rows, finest = len(topics.labels), len(found) - 1
    n_noise = int((topics.labels[:, -1] < 0).sum())
    colours = _colour(topics)
    content = {
        "title": shorten(title, 300),
        "written": written,
        "version": metadata.version("cohirf"),
        "n_rows": n_rows,
        "n_noise": n_noise,
        "counts": [f"{len(level):,}" for level in found],
        "lead": _lead(topics),
        "width": MAP_WIDTH,
        "height": MAP_HEIGHT,
        "finest": finest,
        "flat": finest == 0,
        "is_open": len(found[0]) <= OPEN,
        "circles": place_circles(topics, colours),
        "topics": [_nest(topics, one, colours, pictures) for one in sorted(found[0], key=lambda one: -one.size)],
    }
    return render_topics(content)


def _lead(topics: Topics) -> str:
    stability = np.array([one.stability for one in topics.topics[-1]])
    steady = int((stability >= 0.8).sum())
    largest = max(topics.topics[0], key=lambda one: one.size)
    return (
        f"The largest topic is “{largest.name}”, with {100 * largest.size / len(topics.labels):.0f} % of the texts. "
        f"The views agree on {steady:,} of the {len(stability):,} finest topics (stability of at least 0.8)."
    )


def _colour(topics: Topics) -> dict[tuple[int, int], int]:
    """Return the colour of each topic: that of its topic of the coarsest level, the largest first."""
    order = sorted(topics.topics[0], key=lambda one: -one.size)
    colour = {(0, one.cluster): number % N_COLOURS for number, one in enumerate(order)}
    for level in topics.topics[1:]:
        for one in level:
            assert one.parent is not None
            colour[one.level, one.cluster] = colour[one.level - 1, one.parent]
    return colour


def _make_thumbnails(topics: Topics, images: Any) -> dict[int, str]:
    """Return a small image of each typical row."""
    if images is None:
        return {}
    rows = np.unique([row for level in topics.topics for one in level for row in one.rows]).astype(np.int64)
    return dict(zip(rows.tolist(), map(make_thumbnail, take_entries(images, rows)), strict=True))


def _nest(
    topics: Topics, topic: Topic, colours: dict[tuple[int, int], int], pictures: dict[int, str]
) -> dict[str, Any]:
    return asdict(topic) | {
        "share": topic.size / len(topics.labels),
        "colour": colours[topic.level, topic.cluster],
        "images": [pictures[row] for row in topic.rows if pictures.get(row)],
        "children": [_nest(topics, child, colours, pictures) for child in topics.children(topic)],
    }


def place_circles(topics: Topics, colours: dict[tuple[int, int], int]) -> list[dict[str, Any]]:
    """Return a circle for each topic of the finest level; the largest come first, so that small ones are above them."""
    finest = topics.topics[-1]
    places = _fill_map(_project(topics.places))
    sizes = np.array([one.size for one in finest], dtype=np.float64)
    unit = np.sqrt(COVERED * MAP_WIDTH * MAP_HEIGHT / np.pi / sizes.sum())
    radius = np.clip(unit * np.sqrt(sizes), SMALLEST_CIRCLE, LARGEST_CIRCLE)
    order = np.argsort(-sizes, kind="stable").tolist()
    labelled = set(order[:MOST_LABELS])
    return [
        {
            "cluster": finest[number].cluster,
            "colour": colours[finest[number].level, finest[number].cluster],
            "x": round(float(places[number, 0]), 1),
            "y": round(float(places[number, 1]), 1),
            "r": round(float(radius[number]), 1),
            "name": finest[number].name,
            "size": finest[number].size,
            "label": shorten(finest[number].name.split(", ")[0], LONGEST_TITLE) if number in labelled else "",
        }
        for number in order
    ]


def _project(places: NDArray[Any]) -> NDArray[np.float64]:
    """Return means of topics in the plane."""
    centred = places - places.mean(axis=0)
    if len(places) < FEWEST_PLACED:
        flat = PCA(min(2, *places.shape), random_state=0).fit_transform(centred) if len(places) > 1 else centred[:, :2]
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    perplexity = min(15.0, (len(places) - 1) / 3)
    init = "pca" if places.shape[1] > 1 else "random"
    found = TSNE(perplexity=perplexity, init=init, random_state=0).fit_transform(centred)
    return np.asarray(found, dtype=np.float64)


def _fill_map(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return places that fill the map."""
    low, span = places.min(axis=0), np.ptp(places, axis=0)
    room = np.array([MAP_WIDTH, MAP_HEIGHT]) - 2 * MAP_MARGIN
    return np.asarray(MAP_MARGIN + room * np.where(span > 0, (places - low) / np.where(span > 0, span, 1), 0.5))
