"""How often is the verdict of diagnose() right?

    python -m benchmarks.quality.diagnose [--bases K-Means Ward] [--seeds 3] [--sets 14]
    python -m benchmarks.quality.diagnose --whole [--seeds 3]

The 14 data sets and the base methods of answers.py, with the defaults of CoHiRF and as published,
in one batch and in eight (data sets of at least 400 rows). What diagnose() says without classes is
compared with known ones: the adjusted Rand index of the model, and the mean one of three runs of
the base method, both on the rows that diagnose() looked at, with each noise row as a cluster of its
own. K-Means alone has ten starts. DBSCAN and HDBSCAN run on all rows, and all rows count: a cluster
can be cut at the border of the region that diagnose() looks at. Differences of at most 0.02 are
ties. "use the base method alone" is right unless CoHiRF is better, and "either" is right if there
is a tie. Fits that are one run of a deterministic base method on all rows, about which diagnose()
is right by construction, are left out.

The two thresholds are also chosen for each data set from the other ones: those with the most
statements, of which 90 % are right. Fits with the defaults around K-Means are treated apart: too
few of their statements were right, so that diagnose() makes none. The last table is about figures
that could tell more: how often their sign is right where CoHiRF and the base method differ.

With ``--whole``: DBSCAN and HDBSCAN in local batches of 3/8 and 3/16 of at most 5,000 rows, on five
data sets. diagnose() says "either" of all fits of kind "exact" and "spanning", whatever it
measures. HDBSCAN would have a single batch on so few rows. So its lower bound of the batch size is
lifted here, and more edges of its spanning tree are missed.

Large data sets are sampled, each time other rows. Results go to a file, one line each, and are not
computed again.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import islice, product
from typing import Any
from unittest.mock import patch

import numpy as np
from examples.synthetic import make_shapes
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    print_markdown,
    read_file,
    seeded,
    write_table,
)
from benchmarks.quality.answers import base_method
from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.app.explain.diagnose import (
    ALONE,
    EITHER,
    RULE,
    UNKNOWN,
    Comparison,
    Rule,
    diagnose_model,
    finds_number,
    rival_of,
    separate_noise,
)
from cohirf.app.explain.study import DiagnosisSample, draw_diagnosed
from cohirf.beyond.policy import CELL
from cohirf.fitting.policy import LOCAL

# At most so many rows of a data set. With more than 1,000, diagnose() looks at some of them.
MAX_ROWS = {
    "K-Means": 1500,
    "GMM": 700,
    "Ward": 1500,
    "spectral": 700,
    "DBSCAN": 1500,
    "HDBSCAN": 700,
}
N_BATCHES = 8
MIN_ROWS_IN_BATCHES = 400
WHOLE_BASES = ("DBSCAN", "HDBSCAN")
WHOLE_SETS = ("chameleon-t4-8k", "shuttle", "pendigits", "satimage")
WHOLE_BATCHES = (4, 8)
WHOLE_ROWS = 5000
TIE = 0.02
N_RUNS = 3
ONE_RUN = "one run"
THRESHOLDS = [
    (lost, worse)
    for lost in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
    for worse in (0.0, 0.01, 0.02, 0.03, 0.05)
]
ENOUGH = 0.9

Figures = dict[str, Any]


def variants(base: Any, n_rows: int) -> dict[str, CoHiRF]:
    """Return the models to judge."""
    sizes = {"": None} | (
        {f", {N_BATCHES} batches": n_rows // N_BATCHES} if n_rows >= MIN_ROWS_IN_BATCHES else {}
    )
    makers: dict[str, Callable[..., CoHiRF]] = {
        "defaults": CoHiRF,
        "as published": CoHiRF.as_published,
    }
    return {
        f"{name}{batches}": make(base, batch_size=size)
        for name, make in makers.items()
        for batches, size in sizes.items()
    }


def judge(model: CoHiRF, X: np.ndarray, y: np.ndarray) -> Figures:
    """Fit, and return what diagnose() says and measures, and the adjusted Rand indices of both on
    the same rows.
    """
    diagnosis = diagnose_model(model.fit(X))
    if diagnosis.facts.same_as_base == "one run":
        return {"said": ONE_RUN}
    found = diagnosis.comparison
    rival = rival_of(model)
    sample = draw_diagnosed(model, keeps_density=finds_number(rival))
    rows, runs = run_alone(rival, sample, X)
    ours = model.labels_[rows]
    dispersions = [measure_dispersion(X[rows], labels) for labels in (ours, runs[0])]
    return {
        "said": diagnosis.recommendation,
        "kind": model.diagnostics_[0].kind,
        "matches": float(adjusted_rand_score(separate_noise(runs[0]), separate_noise(ours))),
        "ari": _agreement(y[rows], ours),
        "alone": float(np.mean([_agreement(y[rows], labels) for labels in runs])),
        "same": found.same,
        "gap": None if found.agreement is None else found.agreement - found.reproducibility,
        "reproducibility": found.reproducibility,
        "silhouettes": [*found.silhouette],
        "calinski_harabasz": _difference(
            [None if value is None else float(np.log(value)) for value in dispersions]
        ),
    }


def measure_dispersion(X: np.ndarray, labels: np.ndarray) -> float | None:
    """Return the Calinski-Harabasz score of the rows that are not noise; None if undefined."""
    kept = np.flatnonzero(labels >= 0)
    if not 1 < len(np.unique(labels[kept])) < len(kept):
        return None
    return float(calinski_harabasz_score(X[kept], labels[kept]))


def run_alone(
    rival: BaseMethod, sample: DiagnosisSample, X: np.ndarray
) -> tuple[np.ndarray, list[np.ndarray]]:
    """Return the rows on which model and base method are scored, and the labels of these from runs
    of the latter.
    """
    if finds_number(rival):
        rows = np.arange(len(X))
        features = X
        compared = np.arange(len(X))
    else:
        rows = sample.rows[sample.compared]
        features = sample.features
        compared = sample.compared
    n_runs = 1 if rival.is_deterministic else N_RUNS
    return rows, [
        rival.label_rows(features, np.random.default_rng(seed))[compared] for seed in range(n_runs)
    ]


def run(
    results: Results, bases: Sequence[str], n_seeds: int, n_sets: int | None
) -> Iterator[tuple[str, str, Figures]]:
    """Yield data set, kind of model and figures of each fit."""
    for name, X, y in islice(all_sets(), n_sets):
        codes = np.unique(y, return_inverse=True)[1]
        n_classes = len(np.unique(y))
        for base in bases:
            for seed in range(n_seeds):
                rows = np.sort(np.random.default_rng(seed).permutation(len(X))[: MAX_ROWS[base]])
                models = variants(base_method(base, X[rows], n_classes), len(rows))
                for variant, model in models.items():
                    fit = partial(judge, seeded(model, seed), X[rows], codes[rows])
                    yield name, f"{base}, {variant}", results.of((name, base, variant, seed), fit)
            print(f"{name}, {base}", flush=True)


def run_whole(results: Results, n_seeds: int) -> Iterator[tuple[str, str, Figures]]:
    """Yield data set, kind of model and figures of each fit in local batches."""
    sets = {name: data for name in WHOLE_SETS if (data := read_file(name)) is not None}
    for name, (X, y) in (sets | {"shapes": make_shapes(2 * WHOLE_ROWS, random_state=0)}).items():
        codes = np.unique(y, return_inverse=True)[1]
        for base in WHOLE_BASES:
            for n_batches, seed in product(WHOLE_BATCHES, range(n_seeds)):
                rows = np.sort(np.random.default_rng(seed).permutation(len(X))[:WHOLE_ROWS])
                size = int(CELL.largest_batch * len(rows)) // n_batches
                model = seeded(CoHiRF(base_method(base, X[rows], 0), batch_size=size), seed)
                variant = f"{n_batches} local batches"
                with patch.dict(vars(LOCAL), spanned_rows=size):
                    fit = partial(judge, model, X[rows], codes[rows])
                    yield name, f"{base}, {variant}", results.of((name, base, variant, seed), fit)
            print(f"{name}, {base}", flush=True)


def outcome(figures: Figures) -> str:
    """Return which of the two is better by known classes."""
    gain = figures["ari"] - figures["alone"]
    return "CoHiRF" if gain > TIE else "alone" if gain < -TIE else "tie"


def is_right(said: str, figures: Figures) -> bool:
    return outcome(figures) == "tie" if said == EITHER else outcome(figures) != "CoHiRF"


def print_statements(cases: list[tuple[str, str, Figures]]) -> list[list[str]]:
    """Count, for each kind of model and statement, which of the two was better.

    Return the counts of all kinds.
    """
    rows = []
    for kind in [*dict.fromkeys(kind for _, kind, _ in cases), "all"]:
        for said in (ALONE, EITHER, UNKNOWN):
            of_kind = [
                figures
                for _, name, figures in cases
                if kind in (name, "all") and figures["said"] == said
            ]
            if of_kind:
                outcomes = [outcome(figures) for figures in of_kind]
                right = np.mean([is_right(said, figures) for figures in of_kind])
                counts = [str(outcomes.count(which)) for which in ("alone", "tie", "CoHiRF")]
                rows.append(
                    [
                        kind,
                        said,
                        str(len(of_kind)),
                        *counts,
                        "-" if said == UNKNOWN else f"{right:.0%}",
                    ]
                )
    header = ["fits", "diagnose() says", "cases", "alone better", "tie", "CoHiRF better", "right"]
    print_markdown(header, rows)
    return [row[1:] for row in (header, *rows) if row[0] in ("fits", "all")]


def print_whole(cases: list[tuple[str, str, Figures]]) -> None:
    """Print how often the statement about the kinds "exact" and "spanning" is right, and what the
    kinds are.
    """
    for kind in dict.fromkeys(figures.get("kind", ONE_RUN) for *_, figures in cases):
        of_kind = [case for case in cases if case[-1].get("kind", ONE_RUN) == kind]
        matches = ", ".join(
            f"{match:.3f}"
            for match in sorted(figures.get("matches", 1.0) for *_, figures in of_kind)
        )
        print(
            f"{kind}: {len(of_kind)} fits "
            f"({', '.join(dict.fromkeys(name for name, *_ in of_kind))})"
        )
        print(f"  adjusted Rand index with the base method on all rows: {matches}")
    print_statements([case for case in cases if case[-1].get("kind") in ("exact", "spanning")])


def print_left_out(cases: list[tuple[str, str, Figures]]) -> None:
    """Judge each data set with thresholds that were chosen on the others."""
    # the thresholds have no effect on local batches
    others = [case for case in cases if case[-1].get("kind") != "local"]
    differing = [
        case for case in others if case[-1]["same"] is not None and case[-1]["same"] < RULE.same
    ]
    for title, judged in (("not judged by diagnose()", False), ("judged", True)):
        of_title = [
            (name, figures) for name, kind, figures in differing if is_judged(kind) == judged
        ]
        if of_title:
            print(f"\n{len(of_title)} fits differ from the base method and are {title}.")
            print_thresholds(of_title)


def is_judged(kind: str) -> bool:
    """Return whether diagnose() may say about a kind of model that the base method is better."""
    return not kind.startswith("K-Means, defaults")


def print_thresholds(differing: list[tuple[str, Figures]]) -> None:
    said = []
    chosen = []
    for left_out in dict.fromkeys(name for name, _ in differing):
        thresholds = choose_thresholds([figures for name, figures in differing if name != left_out])
        chosen.append(thresholds)
        said += [
            figures
            for name, figures in differing
            if name == left_out and says_alone(figures, *thresholds)
        ]
    right = sum(is_right(ALONE, figures) for figures in said)
    better = sum(outcome(figures) == "alone" for figures in said)
    always = np.mean([is_right(ALONE, figures) for _, figures in differing])
    fixed = [
        is_right(ALONE, figures)
        for _, figures in differing
        if says_alone(figures, RULE.lost, RULE.worse_silhouette)
    ]
    print(
        f"If 'alone' were always said, {always:.0%} were right; with the thresholds, {sum(fixed)} "
        f"of {len(fixed)}."
    )
    print(
        f"Thresholds chosen without the data set that is judged ({RULE.lost}, {RULE.worse_silhouette} in "
        f"diagnose(), here {sorted(set(chosen))}): right in {right} of {len(said)} "
        f"({right / max(len(said), 1):.0%}), and the base method is better in {better} of these."
    )


def says_alone(figures: Figures, lost: float, worse: float) -> bool:
    ours, alone = figures["silhouettes"]
    found = Comparison("", silhouette=(ours, alone), agreement=figures["gap"], reproducibility=0.0)
    return found.has_lost(Rule(lost=lost, worse_silhouette=worse))


def print_signs(cases: list[tuple[str, str, Figures]]) -> None:
    """Print how often the sign of a figure tells which of the two is better."""
    rows = []
    signs: dict[str, Callable[[Figures], float | None]] = {
        "agreement": lambda figures: figures["gap"],
        "silhouette": lambda figures: _difference(figures["silhouettes"]),
        "Calinski-Harabasz": lambda figures: figures["calinski_harabasz"],
    }
    differing = [
        figures
        for *_, figures in cases
        if figures["same"] is not None and figures["same"] < RULE.same
    ]
    for name, measure in signs.items():
        known = [
            (measured, outcome(figures))
            for figures in differing
            if (measured := measure(figures)) is not None
        ]
        above = [better != "alone" for measured, better in known if measured > 0]
        below = [better != "CoHiRF" for measured, better in known if measured < 0]
        rows.append([name, *(f"{sum(right)} of {len(right)}" for right in (above, below))])
    print_markdown(["figure", "higher for CoHiRF: right", "lower: right"], rows)


def choose_thresholds(known: list[Figures]) -> tuple[float, float]:
    """Return the thresholds with the most statements among those at which enough are right."""
    best = THRESHOLDS[-1]
    most = 0
    for thresholds in THRESHOLDS:
        said = [is_right(ALONE, figures) for figures in known if says_alone(figures, *thresholds)]
        if len(said) > most and np.mean(said) >= ENOUGH:
            best = thresholds
            most = len(said)
    return best


def _agreement(classes: np.ndarray, labels: np.ndarray) -> float:
    """Return the adjusted Rand index.

    A model as published has no noise, so noise rows of both count as clusters.
    """
    return float(adjusted_rand_score(classes, separate_noise(labels)))


def _difference(pair: Sequence[float | None]) -> float | None:
    ours, other = pair
    return None if ours is None or other is None else ours - other


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=list(MAX_ROWS), choices=list(MAX_ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    parser.add_argument(
        "--whole", action="store_true", help="fits that are the base method's own, in local batches"
    )
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, bases=["K-Means"], seeds=1, sets=3)
    warnings.simplefilter("ignore")  # of many small levels, and of useless clusters
    results = Results(arguments.results / "diagnose.jsonl")
    with threadpool_limits(1):
        if arguments.whole:
            print_whole(list(run_whole(results, arguments.seeds)))
            return
        found = list(run(results, arguments.bases, arguments.seeds, arguments.sets))
    cases = [case for case in found if case[-1]["said"] != ONE_RUN]
    print(
        f"\n{len(found)} fits, of which {len(found) - len(cases)} are one run of the base method "
        "on all rows"
    )
    write_table(arguments.write, "diagnose", print_statements(cases))
    print_left_out(cases)
    print_signs(cases)


if __name__ == "__main__":
    main()
