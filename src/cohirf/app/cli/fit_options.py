"""The options of ``cohirf fit`` that no other command has, each as the type of a parameter.

Nothing here imports NumPy, so that help is quick.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cohirf.app.cli.options import Imputing, Scaling, option, switch
from cohirf.beyond.merges import NAMES

if TYPE_CHECKING:
    Merge = str
else:
    Merge = Literal[("auto", *NAMES)]


# -- how clusters are found

Clusters = Annotated[
    str | None,
    option(
        "--clusters",
        "Clustering",
        "The number of final clusters, before --min-cluster-size is applied. By default, that "
        "of the base method; if it has none, auto chooses it.",
        metavar="INT|auto|levels",
    ),
]
Merging = Annotated[
    Merge | None,
    option(
        "--merge",
        "Clustering",
        "How groups merge after the levels: compact for round clusters, connected for long "
        "ones, graph for many features. By default, auto decides it.",
    ),
]
Views = Annotated[
    int | None,
    option(
        "--views",
        "Clustering",
        "Number of random feature views at each level (R in the paper); 5 by default.",
        metavar="INT",
        min=1,
    ),
]
MaxFeatures = Annotated[
    str | None,
    option(
        "--max-features",
        "Clustering",
        "Number or fraction of features in each view (q in the paper); 1.0 by default, which "
        "is all of them.",
        metavar="INT|FLOAT",
    ),
]
MinClusterSize = Annotated[
    str | None,
    option(
        "--min-cluster-size",
        "Clustering",
        "Smallest size of a final cluster: a number of rows, or a fraction of all. Rows of "
        "smaller clusters get the label -1.",
        metavar="INT|FLOAT",
    ),
]
MinSize = Annotated[
    str | None,
    option(
        "--min-size",
        "Clustering",
        "Smallest number of rows in a cluster, or fraction of all: rows at borders move to it. "
        "It needs --clusters.",
        metavar="INT|FLOAT",
    ),
]
MaxSize = Annotated[
    str | None,
    option(
        "--max-size",
        "Clustering",
        "Largest number of rows in a cluster, or fraction of all: rows at borders move away. "
        "It needs --clusters.",
        metavar="INT|FLOAT",
    ),
]
Links = Annotated[
    Path | None,
    option(
        "--links",
        "Clustering",
        "A table of pairs of rows that are to be in one cluster, or not to be, with three columns: "
        "two row numbers, from 0 on, or with --id-column two ids; and 1 or together, -1 or apart. "
        "All are kept. It needs a method that is told --clusters.",
        metavar="FILE",
    ),
]
Seed = Annotated[
    int | None,
    option(
        "--seed",
        "Clustering",
        "Seed of views, batches, base methods and samples; 0 by default.",
        metavar="INT",
    ),
]
Eps = Annotated[
    str | None,
    option(
        "--eps",
        "Clustering",
        "The radius of DBSCAN, which is then the base method; with --places a length, such as "
        "2km, 500m or 1mi.",
        metavar="FLOAT|TEXT",
    ),
]


# -- how much is computed at a time, and where

BatchSize = Annotated[
    str | None,
    option(
        "--batch-size",
        "Size",
        "Approximate number of rows that are clustered together, or the memory that the fit "
        "may use. By default, auto from 50,000 rows on, for K-Means from 1 GB on, and all "
        "rows below.",
        metavar="INT|auto|2GB",
    ),
]
Checkpoint = Annotated[
    str | None,
    option(
        "--checkpoint",
        "Size",
        "Folder in which the fit stores the results of its batches: the same command goes on "
        "where a fit was stopped.",
        metavar="FOLDER",
    ),
]
Jobs = Annotated[
    int | None,
    option(
        "--n-jobs",
        "Size",
        "Number of views or batches that are computed at the same time; -1 is all cores. "
        "1 by default.",
        metavar="INT",
    ),
]
Device = Annotated[
    str | None,
    option(
        "--device",
        "Size",
        "Where batches are computed, such as cuda. It needs --estimator torch-kmeans.",
        metavar="TEXT",
    ),
]


# -- which columns are features, and how they are prepared

LabelColumn = Annotated[
    str | None,
    option(
        "--label-column",
        "Data",
        "Column with known classes: not a feature; the clusters are compared with it.",
        metavar="NAME",
    ),
]
Drop = Annotated[
    list[str] | None,
    option("--drop", "Data", "A column to leave out. May be repeated.", metavar="NAME"),
]
Kinds = Annotated[
    list[str] | None,
    option(
        "--as",
        "Data",
        "What a column is: number, category, boolean, date, date:FORMAT, id or text. All cells "
        "that are not of this kind are taken as missing. May be repeated. By default, it is "
        "decided from the cells.",
        metavar="NAME=KIND",
    ),
]
Scale = Annotated[
    Scaling,
    option(
        "--scale",
        "Data",
        "standard: mean 0 and standard deviation 1; minmax: range 0 to 1. auto, the default, "
        "is none if --estimator is given, because parameters such as eps refer to unscaled "
        "data, and standard otherwise.",
    ),
]
Impute = Annotated[
    Imputing,
    option(
        "--impute",
        "Data",
        "median, the default, or mean: fill missing numbers with the median or mean of their "
        'column; in categories, missing cells are the level "missing". none: refuse them.',
    ),
]
VectorColumn = Annotated[
    str | None,
    option(
        "--vectors",
        "Data",
        "Column of vectors, such as embeddings, to cluster by their cosine; other columns are "
        "no features.",
        metavar="NAME",
    ),
]
TextColumn = Annotated[
    str | None,
    option(
        "--text",
        "Data",
        "Column of texts: clusters are named by words, and the report shows topics. "
        "--clusters 200,40,8 gives levels.",
        metavar="NAME",
    ),
]
ImageColumn = Annotated[
    str | None,
    option(
        "--images",
        "Data",
        "Column of images, as bytes or paths: with --text, the report has small copies of "
        "those of typical rows.",
        metavar="NAME",
    ),
]
Places = Annotated[
    tuple[str, str] | None,
    option(
        "--places",
        "Data",
        "Two columns with degrees, which are the only features: cluster by distance along the "
        "globe.",
        metavar="LATITUDE LONGITUDE",
    ),
]

IsGraph = Annotated[
    bool,
    switch(
        "--graph",
        "Data",
        "The data is a graph of distances: a sparse matrix in .npz, a table of edges (source, "
        "target, distance), or AnnData.",
    ),
]
AreSimilar = Annotated[
    bool,
    switch(
        "--similarities",
        "Data",
        "With --graph: larger values are nearer. Of AnnData, connectivities are taken.",
    ),
]


# -- what is written

Keep = Annotated[bool, switch("--keep", "Output", "Write the columns of the data to --out, too.")]
ModelOut = Annotated[
    Path | None, option("--model", "Output", "Save the model to this new file.", metavar="FILE")
]
ReportOut = Annotated[
    Path | None,
    option("--report", "Output", "Write a report to this .html file.", metavar="FILE"),
]
