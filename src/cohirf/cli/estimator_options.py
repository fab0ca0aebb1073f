"""Options that are parameters of CoHiRF, and the base method. A test compares them with the class itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from cohirf.cli.groups import flags_of
from cohirf.cli.options import option
from cohirf.clusterers.short_names import NAMES

CLUSTERING, SIZE = "Clustering", "Size"
BASE_METHOD = "kmeans"
SEED = 0  # the same command gives the same clusters
MANY_ROWS = 50_000  # from which on the batch size is chosen by measurement

Text = str | None  # None where the user says nothing


@dataclass(frozen=True)
class EstimatorOptions:
    """The model to fit."""

    estimator: Annotated[
        Text,
        option(
            "--estimator",
            f"The base method: {', '.join(NAMES)}.",
            CLUSTERING,
            "NAME",
            choices=tuple(NAMES),
            default=BASE_METHOD,
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        option("--param", "A parameter of the base method, such as eps=0.2. May be repeated.", CLUSTERING, "KEY=VALUE"),
    ] = None
    n_views: Annotated[
        Text,
        option(
            "--views",
            "Number of random feature views at each level (R in the paper). For a base method without randomness, "
            "views that have all features are the same, and it runs once.",
            CLUSTERING,
            "INT",
            default="5",
        ),
    ] = None
    max_features: Annotated[
        Text,
        option(
            "--max-features",
            "Number of features of a view, or their fraction (q in the paper); with --feature-screen, of the relevant "
            "ones. With 1.0 every view has all features, and views differ only by the randomness of the base method. "
            "Fractions of 0.2 to 0.5 make sense where there are many features.",
            CLUSTERING,
            "NUMBER",
            default="1.0",
        ),
    ] = None
    consensus: Annotated[
        Text,
        option(
            "--consensus",
            '"strict" fuses rows that all views put together. "relaxed" first drops views that disagree with the '
            'others. "majority" fuses groups of rows that most views put together; it is not part of the paper.',
            CLUSTERING,
            "NAME",
            choices=("majority", "relaxed", "strict"),
            default="strict",
        ),
    ] = None
    agreement_threshold: Annotated[
        Text,
        option(
            "--agreement-threshold",
            "Relaxed consensus drops the view with the lowest leave-one-out agreement while that is below this value "
            "(h in the paper).",
            CLUSTERING,
            "NUMBER",
            default="0.8",
        ),
    ] = None
    majority: Annotated[
        Text,
        option(
            "--majority",
            "Majority consensus fuses two groups while the share of views in which their rows have the same label, on "
            "average over all pairs of rows, is at least this value. With 1 it is the strict consensus.",
            CLUSTERING,
            "NUMBER",
            default="0.5",
        ),
    ] = None
    medoid: Annotated[
        Text,
        option(
            "--medoid",
            "What the most central row of a cluster is: the one with the highest summed similarity to the others. "
            '"cosine" and "euclidean" (squared distance) are exact. "rbf" and "laplacian" fall to 1/e at the mean '
            "(squared Euclidean or Manhattan) distance within the cluster.",
            CLUSTERING,
            "NAME",
            choices=("cosine", "euclidean", "laplacian", "rbf"),
            default="cosine",
        ),
    ] = None
    max_candidates: Annotated[
        Text,
        option(
            "--max-candidates",
            'Of larger clusters, only so many rows are drawn and compared; for "rbf" and "laplacian".',
            CLUSTERING,
            "INT",
            default="1000",
        ),
    ] = None
    candidate_fraction: Annotated[
        Text,
        option(
            "--candidate-fraction",
            'Draw at most this share of each cluster\'s rows, rounded up; for "rbf" and "laplacian".',
            CLUSTERING,
            "NUMBER",
            default="none",
        ),
    ] = None
    medoid_weights: Annotated[
        bool,
        option(
            "--medoid-weights",
            "Let medoids count with their mass, the number of rows they stand for. It is passed to the base method as "
            "sample_weight. A method that does not take it sees some other rows of the data beside the medoids "
            "instead, so that heavy ones stand among many. This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    feature_screen: Annotated[
        bool,
        option(
            "--feature-screen",
            "Before the first level, find the features that depend on other features, on a random sample of at most "
            "2,000 rows, and leave the others out of views, medoids and distances. Where fewer than two do, all stay. "
            "This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    scale_views: Annotated[
        bool,
        option(
            "--scale-views",
            "Multiply a view of q of p features by sqrt(p / q). Distances in a view then have the size they have on "
            "all features, and a radius, such as eps of DBSCAN, keeps its meaning. This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    batch_size: Annotated[
        Text,
        option(
            "--batch-size",
            "Contract about this many rows together, so that the base method never sees more than one and a half times "
            'as many. "none" contracts all of them together. "auto" tries the base method on small samples and takes '
            "the largest batch that --memory-limit and a reasonable time allow.",
            SIZE,
            "INT|auto",
            choices=("auto",),
            default=f"auto from {MANY_ROWS:,} rows on, none below",
        ),
    ] = None
    memory_limit: Annotated[
        Text,
        option(
            "--memory-limit",
            "How much memory the process may take with --batch-size auto, all that it holds already included: a number "
            'of bytes, or text such as "2GB". "none" means what it takes now and half of what is available.',
            SIZE,
            "SIZE",
            default="none",
        ),
    ] = None
    redraws: Annotated[
        Text,
        option(
            "--redraws",
            "After the levels, up to this many rounds in which rows are drawn anew from the data, and clusters fuse "
            "that the base method puts together by rows of theirs. Rounds end after two that fuse nothing. They mend "
            "what thin batches left apart. They are for base methods that connect rows within a radius, such as "
            "DBSCAN, and not part of the paper.",
            CLUSTERING,
            "INT",
            default="0",
        ),
    ] = None
    min_cluster_size: Annotated[
        Text,
        option(
            "--min-cluster-size",
            "Final clusters with fewer rows are labelled -1. The hierarchy keeps them.",
            CLUSTERING,
            "INT",
            default="1",
        ),
    ] = None
    max_iter: Annotated[Text, option("--max-iter", "Largest number of levels.", CLUSTERING, "INT", default="100")] = (
        None
    )
    checkpoint: Annotated[
        Text,
        option(
            "--checkpoint",
            "A directory in which the fit writes down what became of each batch. The same fit, called again after it "
            "was killed, goes on where it stood, and gives the labels it would have given. A checkpoint of other data, "
            "another seed or other parameters is refused; only --n-jobs, --memory-limit, --min-cluster-size and, "
            "without --redraws, --max-iter may change.",
            SIZE,
            "FOLDER",
            default="none",
        ),
    ] = None
    n_jobs: Annotated[
        Text,
        option(
            "--n-jobs",
            "Number of views or batches that run at the same time. Each of them uses one thread, so that labels do not "
            "depend on the number of cores.",
            SIZE,
            "INT",
            default="1",
        ),
    ] = None
    random_state: Annotated[
        Text,
        option(
            "--seed",
            "Seeds views, batches, the base method and the draw of candidates.",
            CLUSTERING,
            "INT",
            default=str(SEED),
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters of CoHiRF that the user gives: text, or True."""
        values = {name: value for name, value in vars(self).items() if name not in ("estimator", "param")}
        return {name: value for name, value in values.items() if value is not None and value is not False}


@dataclass(frozen=True)
class SearchedEstimatorOptions(EstimatorOptions):
    """The model whose parameters are searched: its fits keep no checkpoint."""

    checkpoint: Annotated[Text, option("--checkpoint", "", SIZE, "FOLDER", hidden=True)] = None


FLAGS = {name: flag for name, flag in flags_of(EstimatorOptions).items() if name not in ("estimator", "param")}
