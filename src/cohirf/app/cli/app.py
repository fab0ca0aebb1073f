"""The commands of the program: what each takes, and the function that does its work.

That function is imported only when its command runs, so that help and completion are quick.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

import cohirf
from cohirf.app.cli.errors import Interrupted
from cohirf.app.cli.fit_options import (
    AreSimilar,
    BatchSize,
    Checkpoint,
    Clusters,
    Device,
    Drop,
    Eps,
    ImageColumn,
    Impute,
    IsGraph,
    Jobs,
    Keep,
    Kinds,
    LabelColumn,
    Links,
    MaxFeatures,
    MaxSize,
    Merging,
    MinClusterSize,
    MinSize,
    ModelOut,
    Places,
    ReportOut,
    Scale,
    Seed,
    TextColumn,
    VectorColumn,
    Views,
)
from cohirf.app.cli.options import (
    DataFile,
    DataOptions,
    Delimiter,
    Estimator,
    FitRequest,
    Force,
    Header,
    IdColumn,
    Json,
    LabelFolder,
    LabelsOut,
    MethodOptions,
    ModelFile,
    Param,
    Quiet,
    RequiredLabelsOut,
    ScreenOptions,
    Sheet,
    Targets,
    argument,
    option,
    read_limits,
    switch,
)

CONTEXT = {"help_option_names": ["-h", "--help"]}
Command = Callable[..., int | None]  # returns the exit code; None is 0

app = typer.Typer(
    help="Cluster the rows of a file with any clustering method, even if the file is too large "
    "for the method alone.\n\nMessages name parameters as Python does: batch_size is --batch-size, "
    "n_clusters is --clusters, random_state is --seed.",
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
party = typer.Typer(
    help="Cluster rows whose columns lie with several owners, who exchange labels and ranks only.",
    context_settings=CONTEXT,
    no_args_is_help=True,
)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cohirf {cohirf.__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
) -> None: ...


def command(*examples: str, of: typer.Typer = app) -> Callable[[Command], Command]:
    """Return a decorator that adds a function to the program, with examples below its help.

    Ctrl-C in it ends the program with a line, and not with a traceback.
    """

    def add(function: Command) -> Command:
        @wraps(function)
        def run(**given: Any) -> int | None:
            try:
                return function(**given)
            except KeyboardInterrupt:
                raise Interrupted("Stopped.") from None

        of.command(epilog="\n\n".join(["Examples:", *examples]), context_settings=CONTEXT)(run)
        return function

    return add


@command(
    "cohirf fit data.csv",
    "cohirf fit iris.csv --label-column species --clusters 3 --report report.html",
    "cohirf fit data.parquet --clusters 10 --views 10 --max-features 0.7 --out labels.csv",
    "cohirf fit big.parquet --estimator dbscan --param eps=0.2 --views 1 --batch-size 20000 "
    "--checkpoint ck/ --id-column id --out labels.parquet --model model.cohirf",
    "cohirf fit docs.parquet --vectors embedding --text body --clusters 200,40,8 "
    "--report topics.html",
    "cohirf fit places.parquet --places lat lon --eps 2km --report map.html",
    "cohirf fit people.csv --id-column id --clusters 20 --links pairs.csv --out labels.csv",
    "cohirf fit graph.npz --graph --clusters 10 --out labels.csv",
)
def fit(
    data: DataFile,
    estimator: Estimator = None,
    param: Param = None,
    clusters: Clusters = None,
    merge: Merging = None,
    views: Views = None,
    max_features: MaxFeatures = None,
    min_cluster_size: MinClusterSize = None,
    min_size: MinSize = None,
    max_size: MaxSize = None,
    links: Links = None,
    seed: Seed = None,
    eps: Eps = None,
    batch_size: BatchSize = None,
    checkpoint: Checkpoint = None,
    n_jobs: Jobs = None,
    device: Device = None,
    label_column: LabelColumn = None,
    id_column: IdColumn = None,
    drop: Drop = None,
    kinds: Kinds = None,
    scale: Scale = "auto",
    impute: Impute = "median",
    delimiter: Delimiter = None,
    header: Header = None,
    sheet: Sheet = None,
    vectors: VectorColumn = None,
    text: TextColumn = None,
    images: ImageColumn = None,
    places: Places = None,
    graph: IsGraph = False,
    similarities: AreSimilar = False,
    json: Json = False,
    quiet: Quiet = False,
    out: LabelsOut = None,
    out_files: LabelFolder = None,
    keep: Keep = False,
    model: ModelOut = None,
    report: ReportOut = None,
    force: Force = False,
) -> None:
    """Cluster the rows of a file."""
    from cohirf.app.cli.fit import fit_file
    from cohirf.app.cli.graphs import fit_graph_file

    method = MethodOptions(estimator, param)
    given = {
        "n_clusters": clusters,
        "merge": merge,
        "views": views,
        "max_features": max_features,
        "min_cluster_size": min_cluster_size,
        "size_limits": read_limits(min_size, max_size),
        "random_state": seed,
        "batch_size": batch_size,
        "checkpoint": checkpoint,
        "n_jobs": n_jobs,
        "device": device,
    }
    about = DataOptions(
        label_column, id_column, drop, kinds, scale, impute, delimiter, header, sheet
    )
    targets = Targets(out, model, report, force, keep=keep, files=out_files)
    screen = ScreenOptions(json, quiet)
    request = FitRequest(data, method, given, eps, about, targets, screen)
    if graph or similarities:
        refused = {
            "--links": links,
            "--report": report,
            "--keep": keep,
            "--out-files": out_files,
            "--vectors": vectors,
            "--text": text,
            "--images": images,
            "--places": places,
        }
        fit_graph_file(request, similar=similarities, refused=refused)
    else:
        fit_file(request, vectors=vectors, text=text, images=images, places=places, links=links)


@command("cohirf predict model.cohirf new.parquet --out labels.parquet")
def predict(
    model: ModelFile,
    data: DataFile,
    out: RequiredLabelsOut,
    json: Json = False,
    quiet: Quiet = False,
    force: Force = False,
) -> None:
    """Assign new rows to the clusters of a model."""
    from cohirf.app.cli.new_rows import predict_file

    predict_file(model, data, ScreenOptions(json, quiet), out=out, force=force)


@command(
    "cohirf update model.cohirf january.parquet",
    "cohirf update model.cohirf february.csv --report changes.html --out labels.csv",
    "cohirf update model.cohirf --recluster",
)
def update(
    model: ModelFile,
    data: Annotated[
        Path | None,
        argument("DATA", "The new rows: a file or a folder, as for cohirf fit."),
    ] = None,
    recluster: Annotated[
        bool,
        switch(
            "--recluster",
            "Clustering",
            "Find the clusters of all rows anew, as a fit does, with or without new rows. Their "
            "number is chosen again, and rows can change their cluster.",
        ),
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    report: Annotated[
        Path | None,
        option(
            "--report",
            "Output",
            "Write how clusters have changed over all updates to this .html file, and say how the "
            "new rows differ from those before, as cohirf drift does.",
            metavar="FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "Output",
            "Write the cluster of each new row to this .parquet, .csv or .npy file.",
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Add the rows of a file to a model; all clusters go on, and new ones are born beside them."""
    from cohirf.app.cli.new_rows import update_model

    screen = ScreenOptions(json, quiet)
    update_model(
        model=model,
        screen=screen,
        data=data,
        recluster=recluster,
        report=report,
        out=out,
        force=force,
    )


@command("cohirf merge north.cohirf south.cohirf west.cohirf --model all.cohirf")
def merge(
    models: Annotated[list[Path], argument("MODEL", "Files that cohirf fit --model has written.")],
    model: Annotated[
        Path, option("--model", "Output", "Save the merged model to this new file.", metavar="FILE")
    ],
    json: Json = False,
    force: Force = False,
) -> None:
    """Merge models of different rows into one, without their data.

    The numbers of the first model last.

    The order of the models matters for numbers alone: values are converted to the units of the
    largest model.
    """
    from cohirf.app.cli.new_rows import merge_files

    merge_files(models=models, model=model, json=json, force=force)


@command("cohirf forget model.cohirf 0", "cohirf forget model.cohirf --rows 17 200-299")
def forget(
    model: ModelFile,
    what: Annotated[
        list[str],
        argument(
            "UPDATES",
            "Numbers of updates, or ranges such as 3-5, as cohirf update prints them; 0 is the "
            "fit.",
        ),
    ],
    rows: Annotated[
        bool,
        switch(
            "--rows",
            "Output",
            "The numbers are those of single rows, counted from 0 over all data so far.",
        ),
    ] = False,
    json: Json = False,
) -> None:
    """Take all rows of some updates out of a model again; an update keeps its number."""
    from cohirf.app.cli.new_rows import forget_rows

    forget_rows(model=model, what=what, rows=rows, json=json)


@command(
    "cohirf consensus labels.parquet --out agreed.parquet",
    "cohirf consensus labels.csv --id-column customer --clusters 8 --out agreed.csv",
)
def consensus(
    labels: Annotated[
        Path,
        argument(
            "LABELS",
            "A file as cohirf fit reads it, with a column of integers for each partition; -1 and "
            "empty cells mean no opinion on a row.",
        ),
    ],
    out: RequiredLabelsOut,
    clusters: Annotated[
        str | None,
        option(
            "--clusters",
            "Clustering",
            "Exactly this many clusters. By default, as many as most partitions agree on.",
            metavar="INT",
        ),
    ] = None,
    id_column: IdColumn = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Make one partition out of several: each column of a file has the labels of one of them."""
    from cohirf.app.cli.voting import agree_on_labels

    agree_on_labels(labels, clusters=clusters, id_column=id_column, out=out, json=json, force=force)


@command(
    "cohirf curate docs.parquet --deduplicate 0.95 --out kept.parquet",
    "cohirf curate docs.parquet --vectors embedding --deduplicate 0.95 --sample 100000 "
    "--out kept.parquet",
)
def curate(
    data: DataFile,
    vectors: Annotated[
        str | None,
        option(
            "--vectors",
            "Data",
            "Column of vectors; by default, the only one of the data.",
            metavar="NAME",
        ),
    ] = None,
    deduplicate: Annotated[
        str | None,
        option(
            "--deduplicate",
            "Output",
            "Leave out rows whose cosine with a kept row is at least this, such as 0.95.",
            metavar="FLOAT",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        option(
            "--sample",
            "Output",
            "Keep this many rows, spread evenly over the hierarchy of clusters.",
            metavar="INT",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "Output",
            "Write the kept rows to this new .parquet file, or their numbers to an .npy file.",
            metavar="FILE",
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Leave out near duplicates of vectors, and draw a sample that is spread evenly over them."""
    from cohirf.app.cli.curate import curate_file

    curate_file(data, vectors=vectors, deduplicate=deduplicate, sample=sample, out=out, json=json)


@command("cohirf drift model.cohirf new.parquet", "cohirf drift model.cohirf new.csv --json")
def drift(model: ModelFile, data: DataFile, json: Json = False) -> int:
    """Say whether new rows look like those of the recent past of a model.

    If they do not, update it. The exit status is 0 if nothing has changed, or the file has no rows;
    3 if shares of clusters or values of features have drifted, or rows are far from everything; and
    4 if rows are of a new kind, of which an update would make a cluster. The recent past are the
    last seven updates.
    """
    from cohirf.app.cli.new_rows import compare_file

    return compare_file(model, data, json=json)


@command("cohirf cut model.cohirf --clusters 8 --out labels.parquet")
def cut(
    model: ModelFile,
    clusters: Annotated[
        str,
        option(
            "--clusters",
            "Clustering",
            "Merge the clusters of the model to exactly this many.",
            metavar="INT",
        ),
    ],
    data: Annotated[
        Path | None,
        option(
            "--data",
            "Data",
            "The data of the fit; the names of its rows are copied to the output.",
            metavar="DATA",
        ),
    ] = None,
    out: LabelsOut = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters."""
    from cohirf.app.cli.hierarchy import cut_tree

    cut_tree(model, clusters=clusters, data=data, out=out, json=json, force=force)


@command(
    "cohirf tree model.cohirf",
    "cohirf tree model.cohirf --top 60",
    "cohirf tree model.cohirf --out tree.nwk",
)
def tree(
    model: ModelFile,
    top: Annotated[
        str | None,
        option(
            "--top",
            "Output",
            "Only the top of the tree, with at most this many leaves. In text, a number above that "
            "of the clusters also shows parts of clusters. By default, in text the clusters, and "
            "at most 30; otherwise the whole tree.",
            metavar="INT",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out",
            "Output",
            "The file to write: .txt for people, .nwk or .graphml for tree viewers, .npy or .csv "
            "for SciPy's linkage, .json for cohirf.FusionHierarchy.",
            metavar="FILE",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file."""
    from cohirf.app.cli.hierarchy import show_tree

    show_tree(model, top=top, out=out, force=force)


@command("cohirf report model.cohirf data.parquet --out report.html")
def report(
    model: ModelFile,
    data: DataFile,
    out: Annotated[Path, option("--out", "Output", "The file to write: .html.", metavar="FILE")],
    force: Force = False,
) -> None:
    """Write a report on a model: one HTML file that needs no network."""
    from cohirf.app.cli.hierarchy import report_model

    report_model(model, data, out=out, force=force)


@command("cohirf info model.cohirf", "cohirf info data.parquet")
def info(
    path: Annotated[Path, argument("MODEL|DATA", "The file of a model, or a data file.")],
    delimiter: Delimiter = None,
    header: Header = None,
    sheet: Sheet = None,
    json: Json = False,
) -> None:
    """Describe a model or a data file."""
    from cohirf.app.cli.info import describe_file

    describe_file(path, delimiter=delimiter, header=header, sheet=sheet, json=json)


@command(
    "cohirf party join shared/ bank.parquet --name bank --param n_clusters=5 --id-column customer",
    of=party,
)
def join(
    folder: Annotated[
        Path,
        argument("FOLDER", "A folder that all parties and cohirf party run can read and write to."),
    ],
    data: DataFile,
    name: Annotated[
        str,
        option(
            "--name",
            "Output",
            "Name of this party. What leaves it is listed in NAME.sent.jsonl in the current "
            "folder.",
            metavar="TEXT",
        ),
    ],
    estimator: Estimator = None,
    param: Param = None,
    id_column: Annotated[
        str | None,
        option(
            "--id-column",
            "Data",
            "Column with the names of the rows: not a feature. Other parties find out if their "
            "rows are in another order.",
            metavar="NAME",
        ),
    ] = None,
) -> None:
    """Take part as the owner of some columns: labels and ranks leave the file, values do not."""
    from cohirf.app.cli.voting import join_parties

    join_parties(folder, data, MethodOptions(estimator, param), name=name, id_column=id_column)


@command("cohirf party run shared/ --parties 3 --clusters 5 --out labels.parquet", of=party)
def run(
    folder: Annotated[Path, argument("FOLDER", "The folder that the parties join in.")],
    parties: Annotated[
        str, option("--parties", "Clustering", "How many parties to wait for.", metavar="INT")
    ],
    out: RequiredLabelsOut,
    clusters: Annotated[
        str | None,
        option(
            "--clusters",
            "Clustering",
            "Exactly this many clusters. By default the algorithm of the paper: levels until "
            "nothing fuses.",
            metavar="INT",
        ),
    ] = None,
    json: Json = False,
    force: Force = False,
) -> None:
    """Coordinate parties: wait for them in a folder, and cluster their rows from labels and
    ranks.
    """
    from cohirf.app.cli.voting import run_parties

    run_parties(folder, parties=parties, clusters=clusters, out=out, json=json, force=force)


app.add_typer(party, name="party")
