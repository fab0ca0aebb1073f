"""Topics: clusters of texts on several levels, with words that set each apart and a name.

And their page.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.manifold import TSNE
from sklearn.metrics.pairwise import euclidean_distances

from cohirf import CoHiRF, __version__
from cohirf.app.explain.columns import make_thumbnail
from cohirf.app.explain.describe import mean_stability
from cohirf.app.explain.page import render_topics
from cohirf.app.explain.policy import SAMPLE, TOPIC
from cohirf.app.explain.study import add_rare, draw
from cohirf.app.explain.table import as_data, as_dense, check_n_rows, read_rows
from cohirf.app.explain.words import shorten
from cohirf.app.plotting.style import STYLE
from cohirf.error_contexts import warn_caller
from cohirf.inspection import cluster_positions
from cohirf.rows import Floats, IntArray, rows_by_label
from cohirf.store import replacing

Namer = Callable[[list[str], list[str]], str]


@dataclass(frozen=True)
class Topic:
    """A cluster of texts.

    Attributes
    ----------
    level : int
        Its level: 0 is the coarsest.
    cluster : int
        Its label in that level.
    parent : int or None
        Its cluster in the level above; None at the coarsest level.
    size : int
        Number of rows.
    stability : float
        Mean of ``stability_`` over its rows.
    name : str
        Its name, which no other topic of the same parent has, and not its parent either.
    words : tuple of str
        Words that set it apart from the other topics of the same parent, the strongest first.
    rows : tuple of int
        Row numbers of typical texts: those nearest to the mean of its rows.
    texts : tuple of str
        These texts, shortened.
    """

    level: int
    cluster: int
    parent: int | None
    size: int
    stability: float
    name: str
    words: tuple[str, ...]
    rows: tuple[int, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Topics:
    """Topics of texts on several levels; printing them shows the tree.

    Attributes
    ----------
    topics : list of list of Topic
        The topics of each level, the coarsest level first, in the order of their labels.
    labels : array of int, shape (n_rows, n_levels)
        The topic of each row in each level; -1 for noise.
    places : array of float, shape (n_topics of the finest level, n_features)
        Mean of the sampled rows of each topic of the finest level.
    """

    topics: list[list[Topic]]
    labels: IntArray
    places: Floats

    def children(self, topic: Topic | None) -> list[Topic]:
        """Return the topics that a topic is divided into, the largest first.

        Of None, those of the coarsest level.
        """
        level, parent = (0, None) if topic is None else (topic.level + 1, topic.cluster)
        if level < len(self.topics):
            below = [one for one in self.topics[level] if one.parent == parent]
        else:
            below = []
        return sorted(below, key=lambda one: -one.size)

    def __str__(self) -> str:
        def tell(topic: Topic) -> list[str]:
            below = [line for child in self.children(topic) for line in tell(child)]
            return [f"{'  ' * topic.level}{topic.name} ({topic.size:,})", *below]

        return "\n".join(line for topic in self.children(None) for line in tell(topic))


def name_topics(
    model: CoHiRF,
    X: Any,
    texts: Any,
    *,
    levels: Sequence[int] | None = None,
    stop_words: str | Sequence[str] | None = "english",
    name: Namer | None = None,
    cache: str | os.PathLike[str] | None = None,
    max_calls: int = 1000,
    retries: int = 2,
) -> Topics:
    """Describe clusters of texts: words that set each apart from its siblings, typical texts, and a
    name.

    Parameters
    ----------
    model : fitted CoHiRF
        The model.
    X : array, CSR matrix, table or source, shape (n_samples, n_features)
        The vectors that it was fitted to. A sample of them is read, of at least thirty rows of each
        cluster.
    texts : sequence of str, shape (n_samples,)
        The text of each row: a list, an array, or a column of a table. Missing texts are empty.
    levels : sequence of int, optional
        Numbers of clusters, such as ``[200, 40, 8]``; by default, the final clusters alone.
    stop_words : "english", sequence of str or None, default="english"
        Words that say nothing: those of scikit-learn's English list, or a list for another
        language.
    name : callable, optional
        A function that gets typical texts and words of a topic and returns its name, such as a call
        of a language model. If it fails, the topic is named by its words, with a warning.
    cache : str or path, optional
        A JSON file of names that the function has given: it is not called again for the same texts
        and words.
    max_calls : int, default=1000
        Largest number of calls of the function. Coarse topics come first.
    retries : int, default=2
        How often a call that fails is repeated.

    Returns
    -------
    topics : Topics
        Topics of each level, the coarsest first.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf import CoHiRF
    >>> from cohirf.app.explain import name_topics
    >>> fruit = ["a red apple", "a ripe red apple"]
    >>> texts = [*fruit, "the fast train", "a train at night", "the night train"] * 4
    >>> X = np.array([[1, 0.1], [1, 0.2], [0.1, 1], [0.2, 1], [0.1, 1]] * 4)
    >>> model = CoHiRF(n_clusters=2, metric="cosine", random_state=0).fit(X)
    >>> print(name_topics(model, X, texts))
    train, night, fast (12)
    apple, red, ripe (8)
    """
    check_n_rows(model, X)
    labels: IntArray = cluster_positions(model)[:, None]  # of each level, the coarsest first
    if levels is None:
        labels = labels
    else:
        labels = model.hierarchy_.levels(sorted(set(levels)))
    if len(texts) != len(labels):
        raise ValueError(
            f"texts has {len(texts):,} entries, but the data has {len(labels):,} rows: pass one "
            "per row."
        )
    sample = _draw_texts(model, X, texts, labels)
    counts, vocabulary = count_words(sample, stop_words)
    naming = _Naming(name, cache, max_calls, retries)
    found: list[list[Topic]] = []
    for level in range(labels.shape[1]):
        above = found[-1] if found else None
        drafts = _describe_level(model, labels, level, sample, counts, vocabulary)
        found.append(_name_level([replace(one, name=naming.ask(one)) for one in drafts], above))
    naming.close()
    n_finest = int(labels[:, -1].max()) + 1
    return Topics(found, labels, _means(sample, sample.finest, n_finest))


@dataclass(frozen=True)
class _Sample:
    """Some rows of each topic of the finest level."""

    rows: IntArray
    finest: IntArray  # the topic of each of these rows
    weights: Floats  # how many rows each stands for
    vectors: Any  # an array, or CSR
    texts: list[str]


def _draw_texts(model: CoHiRF, X: Any, texts: Any, labels: IntArray) -> _Sample:
    finest = labels[:, -1]
    clustered = np.flatnonzero(finest >= 0)
    n_topics = int(finest.max()) + 1
    if n_topics == 0:
        raise ValueError(
            "All rows are noise, so there are no topics to name: fit the model with other "
            "parameters."
        )
    drawn = draw(len(clustered), SAMPLE.described.count(model.n_features_in_))
    rows = clustered[add_rare(finest[clustered], drawn, n_topics)]
    sizes, sampled = (
        np.bincount(own, minlength=n_topics) for own in (finest[clustered], finest[rows])
    )
    vectors = read_rows(as_data(X, model.metric), rows).astype(np.float32)
    return _Sample(
        rows, finest[rows], (sizes / sampled)[finest[rows]], vectors, take_texts(texts, rows)
    )


def take_texts(texts: Any, rows: IntArray) -> list[str]:
    """Return some entries of a list, an array or a column of a table as text.

    Missing ones are empty.
    """
    return ["" if text is None or text != text else str(text) for text in take_entries(texts, rows)]


def take_entries(column: Any, rows: IntArray) -> list[Any]:
    """Return some entries of a list, an array or a column of a table."""
    if hasattr(column, "iloc"):
        return list(column.iloc[rows].tolist())
    if hasattr(column, "take") and not isinstance(column, np.ndarray):  # Arrow
        return list(column.take(rows).to_pylist())
    if isinstance(column, np.ndarray):
        return list(column[rows].tolist())
    return [column[row] for row in rows.tolist()]


def count_words(sample: _Sample, stop_words: Any) -> tuple[Floats, NDArray[Any]]:
    """Return how many texts of each topic of the finest level contain each word, and the words."""
    n_topics = int(sample.finest.max()) + 1
    if stop_words is None or isinstance(stop_words, str):
        stop: str | list[str] | None = stop_words
    else:
        stop = list(stop_words)
    vectoriser = CountVectorizer(stop_words=stop, max_features=TOPIC.counted_words, binary=True)
    try:
        with warnings.catch_warnings():
            # about stop words that the tokens of others contain
            warnings.simplefilter("ignore", UserWarning)
            counts = vectoriser.fit_transform([text[: TOPIC.read] for text in sample.texts])
    except ValueError as error:
        if "empty vocabulary" not in str(error):
            raise
        return np.zeros((n_topics, 0)), np.empty(0, dtype=object)
    shares = sparse.csr_array(
        (sample.weights, (sample.finest, np.arange(len(sample.rows)))),
        shape=(n_topics, len(sample.rows)),
    )
    words = vectoriser.get_feature_names_out()
    usable = np.array([len(word) <= TOPIC.longest_word for word in words])
    return np.asarray((shares @ counts).toarray())[:, usable], words[usable]


def score_words(counts: Floats, parents: IntArray) -> Floats:
    """Return how well each word sets each topic apart from its siblings: class-based tf-idf, times
    the word's share.

    A word scores high if many texts of the topic contain it, few texts of all siblings do, and
    these are in the topic. An only child is compared with all topics.
    """
    tiny = np.finfo(np.float64).tiny  # instead of division by zero
    share = counts / np.maximum(counts.sum(axis=1, keepdims=True), tiny)
    scores = np.zeros_like(counts)
    for parent in np.unique(parents):
        own = np.flatnonzero(parents == parent)
        total = share[own if len(own) > 1 else slice(None)]
        total, n_compared = total.sum(axis=0), len(total)
        rarity = np.log1p(total.sum() / n_compared / np.maximum(total, tiny))
        scores[own] = share[own] * rarity * share[own] / np.maximum(total, tiny)
    return scores


def _describe_level(
    model: CoHiRF,
    labels: IntArray,
    level: int,
    sample: _Sample,
    counts: Floats,
    vocabulary: NDArray[Any],
) -> list[Topic]:
    """Return the topics of a level, without names."""
    own = labels[:, level]
    n_topics = int(own.max()) + 1
    of_finest = np.zeros(counts.shape[0], dtype=np.int64)
    of_finest[sample.finest] = own[sample.rows]
    merged = np.zeros((n_topics, counts.shape[1]))
    np.add.at(merged, of_finest, counts)
    parents = None
    if level:
        parents = np.zeros(n_topics, dtype=np.int64)
        parents[own[sample.rows]] = labels[sample.rows, level - 1]
    scores = score_words(merged, np.zeros(n_topics, dtype=np.int64) if parents is None else parents)
    sizes = np.bincount(own[own >= 0], minlength=n_topics)
    stability = mean_stability(model, own, n_topics)
    typical = _find_typical(sample, own[sample.rows], n_topics)
    return [
        Topic(
            level=level,
            cluster=topic,
            parent=None if parents is None else int(parents[topic]),
            size=int(sizes[topic]),
            stability=float(stability[topic]),
            name="",
            words=tuple(
                str(vocabulary[word])
                for word in np.argsort(-scores[topic], kind="stable")[: 2 * TOPIC.words].tolist()
                if scores[topic, word] > 0
            ),
            rows=tuple(int(sample.rows[place]) for place in typical[topic]),
            texts=tuple(shorten(sample.texts[place], TOPIC.shown) for place in typical[topic]),
        )
        for topic in range(n_topics)
    ]


def _means(sample: _Sample, labels: IntArray, n_topics: int) -> Floats:
    places = np.arange(len(labels))
    shape = (n_topics, len(labels))
    weight_in_topic = sparse.csr_array((sample.weights, (labels, places)), shape=shape)
    sums = as_dense(weight_in_topic @ sample.vectors)
    mass = np.bincount(labels, weights=sample.weights, minlength=n_topics)
    return np.asarray(sums / np.maximum(mass, np.finfo(np.float64).tiny)[:, None])


def _find_typical(sample: _Sample, labels: IntArray, n_topics: int) -> list[list[int]]:
    """Return, for each topic, the rows of the sample that are nearest to its mean, each text
    once.
    """
    means = _means(sample, labels, n_topics)
    starts, members = rows_by_label(labels, n_topics)
    found = []
    for topic in range(n_topics):
        some = members[starts[topic] : starts[topic + 1]]
        distance = euclidean_distances(sample.vectors[some], means[topic : topic + 1])[:, 0]
        seen: dict[str, int] = {}
        for place in some[np.argsort(distance, kind="stable")].tolist():
            if len(seen) < TOPIC.typical and sample.texts[place].strip():
                seen.setdefault(sample.texts[place], place)
        found.append(list(seen.values()))
    return found


def _name_level(topics: list[Topic], above: list[Topic] | None) -> list[Topic]:
    """Return topics with names: of siblings no two have the same, and none has that of its
    parent.
    """
    named = []
    taken = Counter[tuple[int | None, str]]()
    for topic in topics:
        if above is None or topic.parent is None:
            parent = None
        else:
            parent = above[topic.parent]
        words = topic.words
        choices = [topic.name] if topic.name else []
        choices += [
            ", ".join(words[start : start + TOPIC.words_in_name])
            for start in range(max(len(words) - 1, 1))
        ]
        choices.append(f"{choices[0] or 'topic'} {topic.level + 1}.{topic.cluster}")
        name = next(
            one
            for one in choices
            if one and (parent is None or one != parent.name) and not taken[topic.parent, one]
        )
        taken[topic.parent, name] += 1
        named.append(replace(topic, name=name, words=tuple(words[: TOPIC.words])))
    return named


class _Naming:
    """Calls of the user's function, with a limit, retries and a file that keeps its answers."""

    def __init__(self, function: Namer | None, cache: Any, max_calls: int, retries: int) -> None:
        self._function = function
        self._left = max_calls
        self._retries = retries
        self._path = None if cache is None else Path(cache)
        self._known: dict[str, str] = {}
        if self._path is not None and self._path.exists():
            try:
                self._known = dict(json.loads(self._path.read_text(encoding="utf-8")))
            except (ValueError, TypeError) as error:
                raise ValueError(
                    f"cache={str(cache)!r} is not a file of names: give another path."
                ) from error
        self._n_failed = 0
        self._error = ""

    def ask(self, topic: Topic) -> str:
        """Return the name that the function gives, or an empty text."""
        if self._function is None:
            return ""
        texts = list(topic.texts)
        words = list(topic.words[: TOPIC.words])
        key = hashlib.sha256(json.dumps([texts, words]).encode()).hexdigest()[:32]
        if key not in self._known:
            name = self._call(texts, words)
            if name:
                self._known[key] = name
        return self._known.get(key, "")

    def _call(self, texts: list[str], words: list[str]) -> str:
        assert self._function is not None
        for _ in range(1 + self._retries):
            if self._left <= 0:
                return ""
            self._left -= 1
            try:
                return shorten(self._function(texts, words), TOPIC.name)
            except Exception as error:  # a failing call costs a name, never the work so far
                self._error = f"{type(error).__name__}: {shorten(error)}"
        self._n_failed += 1
        return ""

    def close(self) -> None:
        """Write the names to the file, and warn of those that failed."""
        if self._path is not None and self._known:
            with replacing(self._path) as file:
                file.write(json.dumps(self._known, ensure_ascii=False, indent=0).encode())
        if self._n_failed:
            warn_caller(
                f"name= failed for {self._n_failed} topics, which are named by their words; the "
                f"last error was {self._error}.",
                UserWarning,
            )


# -- the page


def draw_topics(topics: Topics, *, title: str, written: str, images: Any = None) -> str:
    """Return the page; typical rows are also shown as images, if there is one for each row."""
    found = topics.topics
    if images is not None and len(images) != len(topics.labels):
        raise ValueError(
            f"images has {len(images):,} entries, but the data has {len(topics.labels):,} rows."
        )
    pictures: dict[int, str] = {}
    if images is not None:  # small ones, of typical rows
        rows = np.unique([row for level in found for one in level for row in one.rows]).astype(
            np.int64
        )
        pictures = dict(
            zip(rows.tolist(), map(make_thumbnail, take_entries(images, rows)), strict=True)
        )
    n_rows = len(topics.labels)
    finest = len(found) - 1
    colours = {
        (0, one.cluster): number % STYLE.n_colours
        for number, one in enumerate(topics.children(None))
    }
    for one in (one for level in found[1:] for one in level):  # as its topic of the coarsest level
        colours[one.level, one.cluster] = colours[one.level - 1, one.parent or 0]
    largest = topics.children(None)[0]
    steady = sum(one.stability >= 0.8 for one in found[-1])
    lead = (
        f"The largest topic is “{largest.name}”, with {100 * largest.size / n_rows:.0f} % of the "
        f"texts. The views agree on {steady:,} of the {len(found[-1]):,} finest topics (stability "
        "of at least 0.8)."
    )
    content = {
        "title": shorten(title, 300),
        "written": written,
        "version": __version__,
        "n_rows": n_rows,
        "n_noise": int((topics.labels[:, -1] < 0).sum()),
        "counts": [f"{len(level):,}" for level in found],
        "lead": lead,
        "width": TOPIC.width,
        "height": TOPIC.height,
        "finest": finest,
        "flat": finest == 0,
        "is_open": len(found[0]) <= TOPIC.open,
        "circles": place_circles(topics, colours),
        "topics": [_nest(topics, one, colours, pictures) for one in topics.children(None)],
    }
    return render_topics(content)


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
    """Return a circle for each topic of the finest level.

    The largest come first, so that small ones are above them.
    """
    finest = topics.topics[-1]
    places = _project(topics.places)
    low = places.min(axis=0)
    span = np.ptp(places, axis=0)
    shares = np.where(span > 0, (places - low) / np.where(span > 0, span, 1), 0.5)
    places = TOPIC.margin + (np.array([TOPIC.width, TOPIC.height]) - 2 * TOPIC.margin) * shares
    sizes = np.array([one.size for one in finest], dtype=np.float64)
    unit = np.sqrt(TOPIC.covered * TOPIC.width * TOPIC.height / np.pi / sizes.sum())
    radius = np.clip(unit * np.sqrt(sizes), TOPIC.smallest_radius, TOPIC.largest_radius)
    order = np.argsort(-sizes, kind="stable").tolist()
    labelled = set(order[: TOPIC.labels])
    return [
        {
            "cluster": finest[number].cluster,
            "colour": colours[finest[number].level, finest[number].cluster],
            "x": round(float(places[number, 0]), 1),
            "y": round(float(places[number, 1]), 1),
            "r": round(float(radius[number]), 1),
            "name": finest[number].name,
            "size": finest[number].size,
            "label": shorten(finest[number].name.split(", ")[0], TOPIC.title)
            if number in labelled
            else "",
        }
        for number in order
    ]


def _project(places: NDArray[Any]) -> NDArray[np.float64]:
    """Return means of topics in the plane."""
    centred = places - places.mean(axis=0)
    if len(places) < TOPIC.placed:
        if len(places) > 1:
            flat = PCA(min(2, *places.shape), random_state=0).fit_transform(centred)
        else:
            flat = centred[:, :2]
        return np.pad(flat, ((0, 0), (0, 2 - flat.shape[1])))
    perplexity = min(15.0, (len(places) - 1) / 3)
    init = "pca" if places.shape[1] > 1 else "random"
    found = TSNE(perplexity=perplexity, init=init, random_state=0).fit_transform(centred)
    return np.asarray(found, dtype=np.float64)
