"""The commands of the program and their options. Each command is implemented in its own file.

That file is imported only when the command runs, so that help and completion are fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated

import typer

import cohirf
from cohirf.cli.data_options import DataOptions, NewDataOptions, NewRowsOptions
from cohirf.cli.errors import Interrupted
from cohirf.cli.estimator_options import EstimatorOptions, SearchedEstimatorOptions
from cohirf.cli.groups import Command, spread_groups
from cohirf.cli.help import HelpAll, PlainGroup, with_common
from cohirf.cli.options import (
    DATA,
    OUTPUT,
    SCREEN,
    CsvOptions,
    DataPath,
    EscapeFormulas,
    Force,
    IdColumn,
    LabelColumn,
    ModelPath,
    Out,
    Screen,
    TargetOptions,
    argument,
    option,
)
from cohirf.cli.search_options import SearchOptions

TREE_FORMATS = ("text", "newick", "json", "linkage", "graphml")
CONTEXT = {"help_option_names": ["-h", "--help"]}
COMMON_IN_FIT = (
    "--clusters",
    "--estimator",
    "--param",
    "--id-column",
    "--label-column",
    "--drop",
    "--out",
    "--model",
    "--report",
    "--seed",
)
COMMON_IN_TUNE = (
    "--metric",
    "--trials",
    "--timeout",
    "--estimator",
    "--param",
    "--label-column",
    "--drop",
    "--storage",
    "--out",
    "--model",
)


app = typer.Typer(
    help="Cluster the rows of a file with any clustering method, even if the file is too large for the method alone.",
    epilog="\n".join(
        [
            "cohirf fit data.csv",
            "cohirf fit data.parquet --estimator dbscan --param eps=0.2 --out labels.parquet --model model.cohirf",
            "cohirf predict model.cohirf new.parquet --out labels.parquet",
        ]
    ),
    cls=PlainGroup,
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
generators = typer.Typer(
    help="Write synthetic data of any size.", cls=PlainGroup, no_args_is_help=True, pretty_exceptions_enable=False
)


def command(*examples: str, common: tuple[str, ...] = (), to: typer.Typer = app) -> Callable[[Command], Command]:
    """Make a function a command of the program; ``common`` are the options that its help lists first."""

    def add(function: Command) -> Command:
        declare = to.command(cls=with_common(*common), epilog="\n".join(examples), context_settings=CONTEXT)
        declare(spread_groups(_stoppable(function)))
        return function

    return add


def _stoppable(function: Command) -> Command:
    @wraps(function)
    def run(**given: object) -> None:
        try:
            function(**given)
        except KeyboardInterrupt:
            raise Interrupted("Stopped.") from None

    return run


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"cohirf {cohirf.__version__}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


@command(
    "cohirf fit data.csv",
    "cohirf fit iris.csv --label-column species --clusters 3 --report report.html",
    "cohirf fit data.parquet --clusters 10 --views 10 --max-features 0.7 --out labels.csv",
    "cohirf fit big.parquet --estimator dbscan --param eps=0.2 --views 1 --batch-size 20000 --checkpoint ck/ "
    "--id-column id --out labels.parquet --model model.cohirf",
    common=COMMON_IN_FIT,
)
def fit(
    data: DataPath,
    about: DataOptions,
    method: EstimatorOptions,
    targets: TargetOptions,
    screen: Screen,
    report: Annotated[Path | None, option("--report", "Write a report to this .html file.", OUTPUT, "FILE")] = None,
    verdict: Annotated[
        bool,
        option(
            "--verdict/--no-verdict",
            "Whether to say, after the fit, if its clusters can be trusted. The base method runs on up to 1,000 rows.",
            SCREEN,
            "",
            default="it is said",
        ),
    ] = True,
    help_all: HelpAll = False,
) -> None:
    """Cluster the rows of a file."""
    from cohirf.cli.fit import fit

    fit(data, about, method, targets, report, screen, says_verdict=verdict)


@command(
    "cohirf tune data.csv",
    "cohirf tune iris.csv --label-column species --metric ari --space wide --storage trials.db",
    "cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100 --out labels.parquet",
    common=COMMON_IN_TUNE,
)
def tune(
    data: DataPath,
    options: SearchOptions,
    about: DataOptions,
    method: SearchedEstimatorOptions,
    targets: TargetOptions,
    screen: Screen,
    table: Annotated[
        Path | None, option("--table", "Write all trials to this .csv or .parquet file.", OUTPUT, "FILE")
    ] = None,
    help_all: HelpAll = False,
) -> None:
    """Search for the parameters that cluster the rows of a file best."""
    from cohirf.cli.tune import tune

    tune(data, options, about, method, targets, table, screen)


@command("cohirf predict model.cohirf new.parquet --out labels.parquet")
def predict(
    model: ModelPath,
    data: DataPath,
    out: Annotated[
        Path, option("--out", "Write the cluster of each row to this .parquet, .csv or .npy file.", OUTPUT, "FILE")
    ],
    reading: NewRowsOptions,
    screen: Screen,
    escape_formulas: EscapeFormulas = False,
    force: Force = False,
) -> None:
    """Assign new rows to the clusters of a model."""
    from cohirf.cli.predict import predict

    predict(model, data, out, reading, screen, escape_formulas=escape_formulas, force=force)


@command(
    "cohirf update model.cohirf january.parquet",
    "cohirf update model.cohirf february.csv --report changes.html --out labels.csv",
)
def update(
    model: ModelPath,
    data: DataPath,
    reading: NewRowsOptions,
    screen: Screen,
    report: Annotated[
        Path | None,
        option(
            "--report",
            "Write how clusters have changed over all updates to this .html file, and say how the new rows differ "
            "from those before, as cohirf drift does.",
            OUTPUT,
            "FILE",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option("--out", "Write the cluster of each new row to this .parquet, .csv or .npy file.", OUTPUT, "FILE"),
    ] = None,
    escape_formulas: EscapeFormulas = False,
    force: Force = False,
) -> None:
    """Add the rows of a file to a model; its clusters keep their numbers."""
    from cohirf.cli.update import update

    update(model, data, out, report, reading, screen, escape_formulas=escape_formulas, force=force)


@command(
    "cohirf merge north/ south/ west/ --model all/",
    "cohirf merge north/ --exemplars-only --model reduced/",
)
def merge(
    models: Annotated[list[Path], argument("Folders that cohirf fit --model has written.", "MODEL...")],
    model: Annotated[Path, option("--model", "Save the merged model to this new file.", OUTPUT, "FILE")],
    screen: Screen,
    exemplars_only: Annotated[
        bool,
        option(
            "--exemplars-only",
            "Reduce each model to its clusters first: their exemplars, means and numbers of rows.",
            metavar="",
        ),
    ] = False,
    force: Force = False,
) -> None:
    """Merge models of different rows into one, without their data."""
    from cohirf.cli.merge import merge

    merge(models, model, screen, exemplars_only=exemplars_only, force=force)


@command("cohirf drift model.cohirf new.parquet", "cohirf drift model.cohirf new.csv --json")
def drift(model: ModelPath, data: DataPath, reading: NewDataOptions, screen: Screen) -> None:
    """Say whether new rows look like those of a model, or whether it should be updated."""
    from cohirf.cli.drift import drift

    drift(model, data, reading, screen)


@command("cohirf cut model.cohirf --clusters 8 --out labels.parquet")
def cut(
    model: ModelPath,
    csv: CsvOptions,
    screen: Screen,
    clusters: Annotated[
        str | None, option("--clusters", "Merge the clusters of the model to exactly this many.", metavar="INT")
    ] = None,
    level: Annotated[
        str | None, option("--level", "Cut at this level; at level 0 every row is its own cluster.", metavar="INT")
    ] = None,
    data: Annotated[
        Path | None,
        option(
            "--data", "The data that the model was fitted to; its --id-column is copied to the output.", DATA, "DATA"
        ),
    ] = None,
    id_column: IdColumn = None,
    out: Out = None,
    escape_formulas: EscapeFormulas = False,
    force: Force = False,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters."""
    from cohirf.cli.cut import cut

    cut(model, csv, screen, clusters, level, data, id_column, out, escape_formulas=escape_formulas, force=force)


@command(
    "cohirf tree model.cohirf",
    "cohirf tree model.cohirf --top 60",
    "cohirf tree model.cohirf --format newick > tree.nwk",
    "cohirf tree model.cohirf --format linkage --out linkage.npy",
)
def tree(
    model: ModelPath,
    format: Annotated[  # noqa: A002 - the option is called so
        str,
        option(
            "--format",
            "text for people; newick or graphml for tree viewers, linkage for SciPy (CSV, or .npy), json for "
            "cohirf.FusionHierarchy.",
            metavar="NAME",
            choices=TREE_FORMATS,
            default="text",
        ),
    ] = "text",
    top: Annotated[
        str | None,
        option(
            "--top",
            "Only the top of the tree, with at most this many leaves. In text, a number above that of the clusters "
            "also shows parts of clusters.",
            metavar="INT",
            default="in text, the clusters, and at most 30; else the whole tree",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("--out", "The file to write.", OUTPUT, "FILE", default="standard output")
    ] = None,
    force: Force = False,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file."""
    from cohirf.cli.tree import tree

    tree(model, format, top, out, force=force)


@command("cohirf report model.cohirf data.parquet --out report.html")
def report(
    model: ModelPath,
    data: DataPath,
    out: Annotated[Path, option("--out", "The file to write: .html.", OUTPUT, "FILE")],
    reading: NewDataOptions,
    screen: Screen,
    title: Annotated[str | None, option("--title", "Title of the page.", metavar="TEXT")] = None,
    image_shape: Annotated[
        str | None,
        option("--image-shape", "Show exemplars as images of this height and width, such as 8x8.", metavar="HxW"),
    ] = None,
    label_column: LabelColumn = None,
    force: Force = False,
) -> None:
    """Write a report on a model: one HTML file that needs no network."""
    from cohirf.cli.report import report

    report(model, data, out, reading, screen, title, image_shape, label_column, force=force)


@command("cohirf info model.cohirf", "cohirf info data.parquet")
def info(
    path: Annotated[Path, argument("The file of a model, or a data file.", "MODEL|DATA")],
    csv: CsvOptions,
    screen: Screen,
) -> None:
    """Describe a model or a data file."""
    from cohirf.cli.info import info

    info(path, csv, screen)


Rows = Annotated[str, option("--n", "Number of rows, such as 1000 or 1e6.", metavar="INT")]
GeneratedFile = Annotated[
    Path,
    option(
        "--out",
        "The file to write: .npy (labels go to a second file beside it), .parquet or .csv (with a column label).",
        OUTPUT,
        "FILE",
    ),
]
CustomerFile = Annotated[
    Path, option("--out", "The file to write: .csv or .parquet; segments go to a second file.", OUTPUT, "FILE")
]
Seed = Annotated[str, option("--seed", "Seed of the random numbers.", metavar="INT", default="0")]
Clusters = Annotated[str, option("--clusters", "Number of clusters.", metavar="INT", default="5")]


@command("cohirf generate spheres --n 1e6 --out spheres.npy", to=generators)
def spheres(
    n: Rows,
    out: GeneratedFile,
    screen: Screen,
    noise: Annotated[
        str, option("--noise", "Standard deviation of the radius.", metavar="FLOAT", default="0.01")
    ] = "0.01",
    seed: Seed = "0",
    force: Force = False,
) -> None:
    """Points on two concentric spheres, of radius 0.5 and 1, in three dimensions."""
    from cohirf.cli.generate import Target, spheres

    spheres(Target(n, out, seed, force), screen, noise)


@command("cohirf generate shapes --n 1e6 --out shapes.npy", to=generators)
def shapes(
    n: Rows,
    out: GeneratedFile,
    screen: Screen,
    noise: Annotated[
        str,
        option(
            "--noise", "Share of the rows that are uniform noise, with the label -1.", metavar="FLOAT", default="0.1"
        ),
    ] = "0.1",
    seed: Seed = "0",
    force: Force = False,
) -> None:
    """Points of two worms, two spirals, a ring and four lumps, in two dimensions, with noise around them."""
    from cohirf.cli.generate import Target, shapes

    shapes(Target(n, out, seed, force), screen, noise)


@command("cohirf generate hypercube --n 1000 --noise 10000 --out hypercube.parquet", to=generators)
def hypercube(
    n: Rows,
    out: GeneratedFile,
    screen: Screen,
    clusters: Clusters = "5",
    informative: Annotated[
        str, option("--informative", "Dimension of the hypercube.", metavar="INT", default="3")
    ] = "3",
    noise: Annotated[str, option("--noise", "Number of noise features.", metavar="INT", default="10")] = "10",
    seed: Seed = "0",
    force: Force = False,
) -> None:
    """Points around the corners of a hypercube with edges of length 6 sqrt(dimension), plus noise features."""
    from cohirf.cli.generate import Target, hypercube

    hypercube(Target(n, out, seed, force), screen, clusters, informative, noise)


@command("cohirf generate blobs --n 1e5 --clusters 8 --out blobs.csv", to=generators)
def blobs(
    n: Rows,
    out: GeneratedFile,
    screen: Screen,
    clusters: Clusters = "5",
    features: Annotated[str, option("--features", "Number of features.", metavar="INT", default="2")] = "2",
    spread: Annotated[str, option("--spread", "Standard deviation of a cluster.", metavar="FLOAT", default="1")] = "1",
    seed: Seed = "0",
    force: Force = False,
) -> None:
    """Points of spherical Gaussian clusters, with centres between -10 and 10."""
    from cohirf.cli.generate import Target, blobs

    blobs(Target(n, out, seed, force), screen, clusters, features, spread)


@command("cohirf generate customers --n 5e4 --out customers.csv", to=generators)
def customers(n: Rows, out: CustomerFile, screen: Screen, seed: Seed = "0", force: Force = False) -> None:
    """Write a table of customers in five segments, with ids, dates, money, text and missing cells."""
    from cohirf.cli.generate import Target, customers

    customers(Target(n, out, seed, force), screen)


app.add_typer(generators, name="generate")


@command("cohirf demo")
def demo(
    screen: Screen,
    out: Annotated[
        Path, option("--out", "Write the report on the digits data to this file.", OUTPUT, "FILE", default="demo.html")
    ] = Path("demo.html"),
) -> None:
    """Cluster four data sets with CoHiRF and with the base method alone; write a report on the digits."""
    from cohirf.cli.demo import demo

    demo(out, screen)
