"""Options for the base method and the parameters of CoHiRF. A test compares them with the class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from cohirf.cli.groups import flags_of
from cohirf.cli.options import option
from cohirf.clusterers.names import NAMES

CLUSTERING, SIZE = "Clustering", "Size"
BASE_METHOD = "kmeans"
SEED = 0  # the same command gives the same clusters
MANY_ROWS = 50_000  # from this number of rows on, the default batch size is auto

NOT_PARAMETERS = ("estimator", "param", "as_published")  # of CoHiRF
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
            default="a quick K-Means",
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        option("--param", "A parameter of the base method, such as eps=0.2. May be repeated.", CLUSTERING, "KEY=VALUE"),
    ] = None
    n_clusters: Annotated[
        Text,
        option(
            "--clusters",
            'How many clusters: a number, or "auto", which chooses it by prediction strength: how well the clusters of '
            "one half of the rows predict those of the other half. Clusters are merged until "
            "exactly this many are left. If it is not given, it is that of the base method; a method "
            'without it keeps the clusters that it finds; without a base method, it is "auto". "levels" keeps the '
            "clusters of the last level, as in the paper.",
            CLUSTERING,
            "K|auto",
            choices=("auto", "levels"),
            default="that of the base method, else auto",
        ),
    ] = None
    merge: Annotated[
        Text,
        option(
            "--merge",
            'How clusters are merged: "compact" suits round clusters, "connected" long and curved ones. "auto" takes '
            "those that separate fewer near neighbours. This is not part of the paper.",
            CLUSTERING,
            "NAME",
            choices=("auto", "compact", "connected"),
            default="auto",
        ),
    ] = None
    as_published: Annotated[
        bool,
        option(
            "--as-published",
            "The algorithm of the paper: --clusters levels, --consensus strict, --medoid-weights false, "
            "and --batches random, unless one of these is given.",
            CLUSTERING,
            "",
        ),
    ] = False
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
            "Number of features of a view, or fraction of all features (q in the paper). "
            "With 1.0 every view has all features, and views differ only by the randomness of the "
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
            '"strict" fuses rows that all views put together. "relaxed" first drops views whose agreement with the '
            'others is below 0.8; a number takes the place of 0.8 (h in the paper). "majority" fuses groups of '
            "rows that most views put together; it is not part of the paper. "
            '"auto" means "strict" for 2 to 50 batches, and "majority" otherwise.',
            CLUSTERING,
            "NAME",
            choices=("auto", "majority", "relaxed", "strict"),
            default="auto",
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
    medoid_weights: Annotated[
        Text,
        option(
            "--medoid-weights",
            "Whether medoids count with their mass, the number of rows they represent. The mass is passed to the base "
            "method as sample_weight. A method without sample_weight gets additional rows of the data instead, so that "
            "heavy medoids lie in dense regions. This is not part of the paper.",
            CLUSTERING,
            "true|false",
            choices=("false", "true"),
            default="true",
        ),
    ] = None
    batch_size: Annotated[
        Text,
        option(
            "--batch-size",
            "Split the rows into batches of about this size; the base method never gets more than 1.5 times as "
            "many rows "
            'at once. "none" uses a single batch. "2GB" runs the base method on small samples and chooses the largest '
            "batch size that the whole process has room for in 2 GB of memory, and that takes a reasonable time; "
            '"auto" does the same with the memory in use now plus half of the available memory.',
            SIZE,
            "INT|auto|SIZE",
            default=f"auto from {MANY_ROWS:,} rows on, none below",
        ),
    ] = None
    batches: Annotated[
        Text,
        option(
            "--batches",
            '"random" batches are random rows, or blocks of the file. "local" batches are neighbouring rows and the '
            'rows around them, so that each has the density of the data. "auto" means "local" for base methods that '
            "find the number of clusters themselves, such as DBSCAN.",
            CLUSTERING,
            "TEXT",
            choices=("auto", "local", "random"),
            default="auto",
        ),
    ] = None
    min_cluster_size: Annotated[
        Text,
        option(
            "--min-cluster-size",
            "Smallest size of a final cluster: a number of rows, or a fraction of all rows.",
            CLUSTERING,
            "NUMBER",
            default="1",
        ),
    ] = None
    small_clusters: Annotated[
        Text,
        option(
            "--small-clusters",
            'What becomes of smaller clusters: "noise" labels their rows -1, "nearest" merges each with the cluster '
            "that has the nearest mean.",
            CLUSTERING,
            "NAME",
            choices=("nearest", "noise"),
            default="noise",
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
            "other parameters is refused; only --n-jobs, --min-cluster-size, --small-clusters "
            "and --max-iter may change.",
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
    device: Annotated[
        Text,
        option(
            "--device",
            'Where batches are computed: a device that torch knows, such as "cuda". It needs a base method that runs '
            "there, such as torch-kmeans.",
            SIZE,
            "NAME",
            default="none",
        ),
    ] = None
    random_state: Annotated[
        Text,
        option(
            "--seed",
            "Seed of all random numbers. The same seed gives the same clusters.",
            CLUSTERING,
            "INT",
            default=str(SEED),
        ),
    ] = None

    def given(self) -> dict[str, Any]:
        """Return the parameters of CoHiRF that the user has given, as text or True."""
        values = {name: value for name, value in vars(self).items() if name not in NOT_PARAMETERS}
        return {name: value for name, value in values.items() if value is not None and value is not False}


@dataclass(frozen=True)
class SearchedEstimatorOptions(EstimatorOptions):
    """The model whose parameters are searched; its fits cannot have a checkpoint."""

    checkpoint: Annotated[Text, option("--checkpoint", "", SIZE, "FOLDER", hidden=True)] = None


FLAGS = {name: flag for name, flag in flags_of(EstimatorOptions).items() if name not in NOT_PARAMETERS}
