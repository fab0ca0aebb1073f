"""How often is diagnose() right about whether the base method alone does better?

    python -m benchmarks.quality.diagnose [--bases K-Means Ward] [--seeds 3] [--sets 14]

Data sets, base methods and variants are those of options.py. What diagnose() recommends is compared with known classes:
a model is better than the base method alone if its adjusted Rand index is above the mean of that method over seeds.
Results go to a file, one line each, and are not computed again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Results, add_results_option, make_parser, parse, print_markdown
from benchmarks.quality.options import MAX_ROWS, TIE, Case, all_cases, collect, run, variants_of
from cohirf.diagnosis.verdict import GAINED, LOST

SAYS = ("use the base method alone", "either", "use CoHiRF", "unknown")


def outcome_of(gain: float) -> str:
    """Return which of the two is better by known classes."""
    return "CoHiRF" if gain > TIE else "alone" if gain < -TIE else "tie"


def diagnose(case: Case, options: dict[str, Any]) -> dict[str, float | None]:
    """Fit, and return the adjusted Rand index with the classes, and what diagnose() measures without them."""
    model = case.model(options, 1.0).fit(case.X)
    comparison = model.diagnose(case.X).comparison
    return {
        "ari": adjusted_rand_score(case.y, model.labels_),
        "agreement": comparison.agreement,
        "reproducibility": comparison.reproducibility,
        "silhouette": comparison.silhouette,
    }


def run_diagnoses(results: Results, bases: Sequence[str], n_seeds: int, n_sets: int | None) -> list[Any]:
    """Return name, base method, figures and outcome of each model."""
    run(results, bases, 1.0, n_seeds, n_sets, variants=["alone"])
    diagnosed = []
    for case in all_cases(bases, n_seeds, n_sets):
        alone = collect(results, case.base, "alone", 1.0, [case.data_set])[0, 0]
        for variant, options in variants_of(case.base).items():
            if options is not None:
                key = ("diagnose", case.data_set, case.base, variant, case.seed)
                found = results.of(key, partial(diagnose, case, options))
                diagnosed.append((case.data_set, case.base, found, outcome_of(found["ari"] - alone)))
    return diagnosed


def print_outcomes(cases: list[Any], bases: Sequence[str]) -> None:
    """Count, for each recommendation, which of the two was better."""
    rows = []
    for base in [*bases, "all"]:
        for said in SAYS:
            found = [
                outcome for _, of, entry, outcome in cases if base in (of, "all") and recommendation(entry) == said
            ]
            counts = [str(found.count(outcome)) for outcome in ("alone", "tie", "CoHiRF")]
            rows.append([base, said, str(len(found)), *counts])
    print_markdown(["base", "diagnose() says", "cases", "alone better", "tie", "CoHiRF better"], rows)


def print_left_out(cases: list[Any]) -> None:
    """Judge each data set with a threshold that was chosen on the others."""
    right = said = 0
    for left_out in dict.fromkeys(name for name, *_ in cases):
        gap = best_gap([case for case in cases if case[0] != left_out])
        says_alone = [case for case in cases if case[0] == left_out and is_below(case[2], gap)]
        said += len(says_alone)
        right += sum(outcome == "alone" for *_, outcome in says_alone)
    print(f"\nthreshold chosen without the data set that is judged: {right} of {said} right that the base does better")


def recommendation(entry: dict[str, Any]) -> str:
    """Return what diagnose() says for these figures."""
    if entry["agreement"] is None:
        return "unknown"
    gain = entry["agreement"] - entry["reproducibility"]
    return "use the base method alone" if gain < -LOST else "use CoHiRF" if gain > GAINED else "either"


def is_below(entry: dict[str, Any], gap: float) -> bool:
    return entry["agreement"] is not None and entry["agreement"] < entry["reproducibility"] - gap


def best_gap(cases: list[Any]) -> float:
    """Return the gap between agreement and reproducibility that classifies most cases correctly."""
    gaps = np.arange(0.0, 0.31, 0.02)
    hits = [sum(is_below(entry, gap) == (outcome == "alone") for *_, entry, outcome in cases) for gap in gaps]
    return float(gaps[int(np.argmax(hits))])


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=list(MAX_ROWS), choices=list(MAX_ROWS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    add_results_option(parser)
    arguments = parse(parser, argv, bases=["K-Means"], seeds=1, sets=2)
    warnings.simplefilter("ignore")  # of many small levels
    results = Results(arguments.results / "options.jsonl")
    with threadpool_limits(1):
        cases = run_diagnoses(results, arguments.bases, arguments.seeds, arguments.sets)
    print_outcomes(cases, arguments.bases)
    print_left_out(cases)


if __name__ == "__main__":
    main()
