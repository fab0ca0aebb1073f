"""Options for the base method and the parameters of CoHiRF. A test compares them with the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from cohirf.cli.groups import flags_of
from cohirf.cli.options import option
from cohirf.clusterers.short_names import NAMES

CLUSTERING, SIZE = "Clustering", "Size"
BASE_METHOD = "kmeans"
SEED = 0  # the same command gives the same clusters
MANY_ROWS = 50_000  # from this number of rows on, the default batch size is auto

Text = str | None  # None if the option is not given


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
            "Number of random feature views at each level (R in the paper). If views have all features and the base "
            "method is deterministic, all views are the same, and it runs once.",
            CLUSTERING,
            "INT",
            default="5",
        ),
    ] = None
    max_features: Annotated[
        Text,
        option(
            "--max-features",
            "Number of features of a view, or fraction of all features (q in the paper); with --feature-screen, of the "
            "relevant features. With 1.0 every view has all features, and views differ only by the randomness of the "
            "base method. Fractions of 0.2 to 0.5 are useful for data with many features.",
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
            "Similarity that defines the medoid, the row with the highest summed similarity to the rows of its "
            "cluster. "
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
            'In clusters with more rows, compare a random sample of this many rows; for "rbf" and "laplacian".',
            CLUSTERING,
            "INT",
            default="1000",
        ),
    ] = None
    candidate_fraction: Annotated[
        Text,
        option(
            "--candidate-fraction",
            'Sample at most this fraction of the rows of each cluster, rounded up; for "rbf" and "laplacian".',
            CLUSTERING,
            "NUMBER",
            default="none",
        ),
    ] = None
    medoid_weights: Annotated[
        bool,
        option(
            "--medoid-weights",
            "Weight medoids by their mass, the number of rows they represent. The mass is passed to the base method as "
            "sample_weight. A method without sample_weight gets additional rows of the data instead, so that heavy "
            "medoids lie in dense regions. This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    feature_screen: Annotated[
        bool,
        option(
            "--feature-screen",
            "Before the first level, find the features that depend on other features, on a random sample of at most "
            "2,000 rows, and ignore all other features in views, medoids and distances. If fewer than two features "
            "depend on others, all are kept. "
            "This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    scale_views: Annotated[
        bool,
        option(
            "--scale-views",
            "Multiply a view with q of p features by sqrt(p / q). Distances in a view are then comparable with "
            "distances "
            "over all features, and a radius, such as eps of DBSCAN, keeps its meaning. This is not part of the paper.",
            CLUSTERING,
            "",
        ),
    ] = False
    batch_size: Annotated[
        Text,
        option(
            "--batch-size",
            "Split the rows into batches of about this size; the base method never gets more than 1.5 times as "
            "many rows "
            'at once. "none" uses a single batch. "auto" runs the base method on small samples and chooses the '
            "largest batch size that --memory-limit and a reasonable time allow.",
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
            "Largest memory of the whole process with --batch-size auto: a number of bytes, or text such as "
            '"2GB". "none" means the memory in use now plus half of the available memory.',
            SIZE,
            "SIZE",
            default="none",
        ),
    ] = None
    redraws: Annotated[
        Text,
        option(
            "--redraws",
            "After the last level, run up to this many rounds that draw new rows of each cluster, and fuse "
            "clusters whose "
            "rows the base method puts together. Rounds stop after two that fuse nothing. Use it with base methods "
            "that connect rows within a radius, such as DBSCAN, if thin batches leave clusters separate. This is not "
            "part of the paper.",
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
            "A folder in which the fit stores the result of each batch. If the fit is stopped, run the same "
            "command again: "
            "it resumes, and gives the same labels as without the stop. A checkpoint of other data, another seed or "
            "other parameters is refused; only --n-jobs, --memory-limit, --min-cluster-size and, without --redraws, "
            "--max-iter may change.",
            SIZE,
            "FOLDER",
            default="none",
        ),
    ] = None
    n_jobs: Annotated[
        Text,
        option(
            "--n-jobs",
            "Number of views or batches that run in parallel. Each of them uses one thread, so that labels do not "
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
            "Seed of all random numbers: views, batches, the base method and sampled medoids.",
            CLUSTERING,
            "INT",
            default=str(SEED),
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters of CoHiRF that the user has given, as text or True."""
        values = {name: value for name, value in vars(self).items() if name not in ("estimator", "param")}
        return {name: value for name, value in values.items() if value is not None and value is not False}


@dataclass(frozen=True)
class SearchedEstimatorOptions(EstimatorOptions):
    """The model whose parameters are searched; its fits cannot have a checkpoint."""

    checkpoint: Annotated[Text, option("--checkpoint", "", SIZE, "FOLDER", hidden=True)] = None


FLAGS = {name: flag for name, flag in flags_of(EstimatorOptions).items() if name not in ("estimator", "param")}
