"""Do texts get the same topics in every run, and good ones?

    python -m benchmarks.quality.texts [--seeds 10] [--methods cohirf kmeans ...] [--rows 22500]
    [--held-out]

clinc150: 22,500 questions with 150 intents in 10 domains, as mean vectors of the token table in the
wheel of the package wordllama (its two files are read here; no network is needed). Each method runs
with so many seeds on the same rows, and with one seed on so many orders of the rows. Figures: the
adjusted Rand index with the intents; with the domains, from the same tree or layers if the method
has any, otherwise from a run that is told ten clusters; pairwise between seeds, and between orders;
clusters, share of noise, and processor seconds, without those of compilation.

A run is written to ``--results`` as soon as it is done, and not repeated: a study that was stopped
continues, and ``--seeds 3`` for slow methods adds to the same file. Methods whose packages are not
installed are left out, with a line that says so.

``--held-out`` uses the part "test" of the questions only; the merges above the final clusters were
chosen on it. ``--balance`` compares samples of 600 of a Zipf-distributed selection instead: the
entropy of the intents in a random sample, in one of the same size from each cluster of K-Means, and
in ``hierarchy_.sample``. ``--around`` compares EVoC alone with CoHiRF around EVoC instead, on
scikit-learn's digits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import (
    DATA_FOLDER,
    Results,
    Table,
    add_results_option,
    make_parser,
    parse,
    timed,
)
from cohirf import CoHiRF

N_INTENTS = 150
N_DOMAINS = 10
Labels = tuple[np.ndarray, np.ndarray]  # for intents and for domains
# those of BERTopic
UMAP_OPTIONS = {
    "n_neighbors": 15,
    "n_components": 5,
    "min_dist": 0.0,
    "metric": "cosine",
}
CLUSTER_SIZES = (5, 10, 20, 40, 60, 80, 100, 150, 300, 600, 1200)


def read_questions(part: str | None, n_rows: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return texts, intents and domains."""
    import pandas as pd

    table = pd.read_parquet(DATA_FOLDER / "clinc150.parquet")
    table = table if part is None else table[table["part"] == part]
    chosen = np.sort(np.random.default_rng(0).permutation(len(table))[:n_rows])
    table = table.iloc[chosen]
    intents, domains = (
        table[name].astype("category").cat.codes.to_numpy() for name in ("intent", "domain")
    )
    return table["text"].tolist(), intents, domains


def embed(texts: Sequence[str]) -> np.ndarray:
    """Return the mean of the vectors of the tokens of each text, with length 1."""
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    found = find_spec("wordllama")
    if found is None or found.origin is None:
        raise SystemExit("This needs the wheels of wordllama, tokenizers and safetensors.")
    folder = Path(found.origin).parent
    weights, tokens = (
        next(folder.rglob(name)) for name in ("*256.safetensors", "*tokenizer*.json")
    )
    table = next(iter(load_file(weights).values())).astype(np.float32)
    encoded = Tokenizer.from_file(str(tokens)).encode_batch(list(texts), add_special_tokens=False)
    X = np.stack([table[one.ids].mean(axis=0) for one in encoded])
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def nearest_to_both(partitions: Sequence[np.ndarray]) -> Labels:
    """Return the partitions of which the numbers of clusters are nearest to those of intents and
    domains.
    """
    intents, domains = (
        min(partitions, key=lambda one: abs(one.max() + 1 - k)) for k in (N_INTENTS, N_DOMAINS)
    )
    return intents, domains


def cohirf(X: np.ndarray, seed: int, **options: Any) -> Labels:
    """Cut one tree for both."""
    model = CoHiRF(n_clusters=N_INTENTS, metric="cosine", random_state=seed, **options).fit(X)
    return model.labels_, model.hierarchy_.cut(n_clusters=N_DOMAINS)


def kmeans(X: np.ndarray, seed: int, n_init: int = 1) -> Labels:
    """Run K-Means once for each number."""
    intents, domains = (
        KMeans(k, n_init=n_init, random_state=seed).fit_predict(X) for k in (N_INTENTS, N_DOMAINS)
    )
    return intents, domains


def hdbscan(X: np.ndarray, seed: int) -> Labels:
    """Find the number of clusters."""
    labels = HDBSCAN(min_cluster_size=10, copy=True).fit_predict(X)
    return labels, labels


def umap_hdbscan(X: np.ndarray, seed: int) -> Labels:
    """Take the smallest sizes of a cluster that give the nearest to both numbers."""
    from umap import UMAP

    points = UMAP(random_state=seed, n_jobs=1, **UMAP_OPTIONS).fit_transform(X)
    sizes = [size for size in CLUSTER_SIZES if size < len(X) / N_DOMAINS]
    return nearest_to_both(
        [HDBSCAN(min_cluster_size=size, copy=True).fit_predict(points) for size in sizes]
    )


def bertopic(X: np.ndarray, seed: int) -> Labels:
    """Run BERTopic with its defaults and a seed; its own reduction of topics gives the domains."""
    from bertopic import BERTopic
    from bertopic.backend import BaseEmbedder
    from umap import UMAP

    reduction = UMAP(random_state=seed, n_jobs=1, low_memory=False, **UMAP_OPTIONS)
    model = BERTopic(embedding_model=BaseEmbedder(), umap_model=reduction)
    texts = [f"question {row}" for row in range(len(X))]  # only its words come from texts
    intents = np.array(model.fit_transform(texts, embeddings=X)[0])
    return intents, np.array(model.reduce_topics(texts, nr_topics=N_DOMAINS + 1).topics_)


def evoc(X: np.ndarray, seed: int) -> Labels:
    """Take the layers that are nearest to both numbers."""
    from evoc import EVoC

    model = EVoC(random_state=seed)
    model.fit(X)
    return nearest_to_both([np.asarray(layer) for layer in model.cluster_layers_])


def _with_views(views: int) -> Callable[[np.ndarray, int], Labels]:
    return lambda X, seed: cohirf(X, seed, views=views)


METHODS: dict[str, Callable[[np.ndarray, int], Labels]] = {
    "cohirf": cohirf,
    **{f"cohirf-{views}-views": _with_views(views) for views in (1, 2, 10, 20)},
    "kmeans": kmeans,
    "kmeans-10-starts": lambda X, seed: kmeans(X, seed, n_init=10),
    "hdbscan": hdbscan,
    "umap-hdbscan": umap_hdbscan,
    "evoc": evoc,
    "bertopic": bertopic,
}
NEEDED = {"umap-hdbscan": "umap", "evoc": "evoc", "bertopic": "bertopic"}
WITHOUT_SEED = {"hdbscan"}


def run(
    method: str, X: np.ndarray, y: np.ndarray, domains: np.ndarray, seed: int, order: int
) -> dict[str, Any]:
    """Return the figures of a run, and its labels in the order of the data."""
    rows = np.random.default_rng(order).permutation(len(X))
    if method in NEEDED:
        METHODS[method](X[:2000], 0)  # compiles
    seconds, found = timed(lambda: METHODS[method](X[rows], seed))
    labels, coarse = (np.empty(len(X), dtype=np.int64) for _ in range(2))
    labels[rows], coarse[rows] = found
    return {
        "intents": adjusted_rand_score(y, labels),
        "domains": adjusted_rand_score(domains, coarse),
        "clusters": int(labels.max()) + 1,
        "noise": float((labels < 0).mean()),
        "seconds": seconds,
        "labels": labels.tolist(),
    }


def with_spread(values: Sequence[float]) -> str:
    """Return the mean and the standard deviation."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1 if len(values) > 1 else 0):.3f}"


def between(runs: Sequence[dict[str, Any]]) -> str:
    """Return the adjusted Rand index of pairs of runs."""
    pairs = [adjusted_rand_score(a["labels"], b["labels"]) for a, b in combinations(runs, 2)]
    return with_spread(pairs) if pairs else "-"


def compare(arguments: Any) -> None:
    """Print a line for each method."""
    part = "test" if arguments.held_out else None
    texts, y, domains = read_questions(part, arguments.rows)
    X = embed(texts)
    results = Results(arguments.results / "texts.jsonl")
    table = Table(
        {
            "method": "<16",
            "intents": ">13",
            "domains": ">13",
            "seeds": ">13",
            "orders": ">13",
            "k": ">5.0f",
        }
        | {"noise": ">6.2f", "seconds": ">8.1f", "runs": ">5"}
    )
    for method in arguments.methods:
        if method in NEEDED and find_spec(NEEDED[method]) is None:
            print(f"{method} is left out: its package is not installed.")
            continue
        seeds = range(1, 1 if method in WITHOUT_SEED else arguments.seeds)
        first, *others = (
            results.of(
                (method, seed, order, len(X), part or "all"),
                lambda method=method, seed=seed, order=order: run(
                    method, X, y, domains, seed, order
                ),
            )
            for seed, order in [
                (0, 0),
                *((seed, 0) for seed in seeds),
                *((0, one) for one in range(1, arguments.seeds)),
            ]
        )
        runs = [first, *others]
        table.row(
            method,
            *(with_spread([one[name] for one in runs]) for name in ("intents", "domains")),
            between([first, *others[: len(seeds)]]),
            between([first, *others[len(seeds) :]]),
            *(
                float(np.mean([one[name] for one in runs]))
                for name in ("clusters", "noise", "seconds")
            ),
            len(runs),
        )


def entropy(classes: np.ndarray) -> float:
    """Return the entropy of classes, as a share of the largest possible."""
    share = np.bincount(classes, minlength=N_INTENTS) / len(classes)
    return float(-(share[share > 0] * np.log(share[share > 0])).sum() / np.log(N_INTENTS))


def balance(arguments: Any) -> None:
    """Print the entropy of intents in samples of each kind."""
    texts, y, _ = read_questions(None, 10**9)
    X = embed(texts)
    rng = np.random.default_rng(0)
    sizes = np.maximum(3, 150 / (np.arange(N_INTENTS) + 1) ** 0.8).astype(int)
    order = rng.permutation(N_INTENTS)
    own = [
        rng.permutation(np.flatnonzero(y == one))[:size]
        for one, size in zip(order, sizes, strict=True)
    ]
    rows = np.concatenate(own)
    X = X[rows]
    y = y[rows]
    hierarchy = CoHiRF(n_clusters=40, metric="cosine", random_state=0).fit(X).hierarchy_
    cells = KMeans(40, n_init=10, random_state=0).fit_predict(X)
    table = Table(
        {"rows": ">6", "random": ">8.3f", "K-Means": ">8.3f", "even": ">8.3f", "half": ">8.3f"}
    )
    for n in (150, 300, 600):
        per_cell = [
            rng.permutation(np.flatnonzero(cells == cell))[: -(-n // 40)] for cell in range(40)
        ]
        table.row(
            n,
            entropy(y[rng.permutation(len(X))[:n]]),
            entropy(y[np.concatenate(per_cell)]),
            entropy(y[hierarchy.sample(n)]),
            entropy(y[hierarchy.sample(n, balance=0.5)]),
        )


def around(arguments: Any) -> None:
    """Print the clusters of EVoC alone, and of CoHiRF around it: as it is, with a number, and as
    published.
    """
    from evoc import EVoC

    X, y = load_digits(return_X_y=True)
    X = X.astype(np.float32)
    table = Table({"method": "<12", "k": ">12", "ARI": ">14", "seeds": ">14", "noise": ">6.2f"})
    for name, options in {
        "alone": None,
        "inside": {},
        "10 clusters": {"n_clusters": 10},
        "levels": {"n_clusters": "levels"},
    }.items():
        models = [
            EVoC(random_state=seed)
            if options is None
            else CoHiRF(EVoC(), metric="cosine", random_state=seed, **options)
            for seed in range(arguments.seeds)
        ]
        runs = [{"labels": model.fit_predict(X)} for model in models]
        numbers = sorted(int(one["labels"].max()) + 1 for one in runs)
        scores = with_spread([adjusted_rand_score(y, one["labels"]) for one in runs])
        noise = float(np.mean([(one["labels"] < 0).mean() for one in runs]))
        table.row(name, f"{numbers[0]} to {numbers[-1]}", scores, between(runs), noise)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the study."""
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=22_500)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--balance", action="store_true")
    parser.add_argument("--around", action="store_true")
    add_results_option(parser)
    arguments = parse(parser, argv, seeds=2, rows=2000, methods=["cohirf", "kmeans"])
    study = balance if arguments.balance else around if arguments.around else compare
    study(arguments)


if __name__ == "__main__":
    main()
