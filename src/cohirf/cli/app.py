"""The commands of the program and what each takes. A function here only declares: another file does its work.

That file is imported only when the command runs, so that help and completion are fast.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

import cohirf
from cohirf.cli.errors import Interrupted
from cohirf.cli.options import (
    CLUSTERING,
    DATA,
    OUT_TEXT,
    OUTPUT,
    SEARCH,
    SPACES,
    Command,
    DataOptions,
    DataPath,
    Delimiter,
    EscapeFormulas,
    Force,
    Header,
    Json,
    LabelColumn,
    MethodOptions,
    ModelPath,
    NewKinds,
    NewRowsOptions,
    Out,
    Screen,
    argument,
    option,
    spread_groups,
)
from cohirf.cli.parameters import SEARCHED, parameter_options, search_options

TREE_FORMATS = ("text", "newick", "json", "linkage", "graphml")
CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Cluster the rows of a file with any clustering method, even if the file is too large for the method alone.",
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def command(module: str, *examples: str) -> Callable[[Command], Command]:
    """Declare a command: the function of the same name in a module of this package does its work."""

    def add(declared: Command) -> Command:
        @wraps(declared)
        def run(**given: Any) -> None:
            try:
                getattr(import_module(f"cohirf.cli.{module}"), declared.__name__)(**given)
            except KeyboardInterrupt:
                raise Interrupted("Stopped.") from None

        epilog = "\n\n".join(["Examples:", *examples])
        app.command(epilog=epilog, context_settings=CONTEXT)(spread_groups(run))
        return declared

    return add


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
    "fit",
    "cohirf fit data.csv",
    "cohirf fit iris.csv --label-column species --clusters 3 --report report.html",
    "cohirf fit data.parquet --clusters 10 --views 10 --max-features 0.7 --out labels.csv",
    "cohirf fit big.parquet --estimator dbscan --param eps=0.2 --views 1 --batch-size 20000 --checkpoint ck/ "
    "--id-column id --out labels.parquet --model model/",
)
def fit(
    data: DataPath,
    method: MethodOptions,
    given: Annotated[dict[str, str], parameter_options()],
    about: DataOptions,
    screen: Screen,
    out: Out = None,
    model: Annotated[Path | None, option("--model", "Save the model to this new folder.", OUTPUT, "FOLDER")] = None,
    report: Annotated[Path | None, option("--report", "Write a report to this .html file.", OUTPUT, "FILE")] = None,
    escape_formulas: EscapeFormulas = False,
    force: Force = False,
) -> None:
    """Cluster the rows of a file."""


@command(
    "tune",
    "cohirf tune data.csv",
    "cohirf tune iris.csv --label-column species --metric ari --space wide --storage trials.db",
    "cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100 --table trials.csv",
)
def tune(
    data: DataPath,
    search: Annotated[dict[str, str], search_options()],
    method: MethodOptions,
    given: Annotated[dict[str, str], parameter_options(SEARCHED)],
    about: DataOptions,
    screen: Screen,
    space: Annotated[
        str,
        option(
            "--space",
            "The search space: recommended has the ranges that we recommend, paper those of the paper, and wide adds "
            "the consensus. Parameters that are given as options are not searched.",
            SEARCH,
            "NAME",
            choices=SPACES,
            default="recommended",
        ),
    ] = "recommended",
    alone: Annotated[bool, option("--alone", "Tune the base method without CoHiRF.", SEARCH)] = False,
    table: Annotated[
        Path | None, option("--table", "Write all trials to this .csv or .parquet file.", OUTPUT, "FILE")
    ] = None,
    force: Force = False,
) -> None:
    """Search for the parameters that cluster the rows of a file best."""


@command("new_rows", "cohirf predict model/ new.parquet --out labels.parquet")
def predict(
    model: ModelPath,
    data: DataPath,
    out: Annotated[Path, option("--out", OUT_TEXT, OUTPUT, "FILE")],
    reading: NewRowsOptions,
    screen: Screen,
    escape_formulas: EscapeFormulas = False,
    force: Force = False,
) -> None:
    """Assign new rows to the clusters of a model."""


@command(
    "new_rows",
    "cohirf update model/ january.parquet",
    "cohirf update model/ february.csv --report changes.html --out labels.csv",
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


@command(
    "merge", "cohirf merge north/ south/ west/ --model all/", "cohirf merge north/ --exemplars-only --model small/"
)
def merge(
    models: Annotated[list[Path], argument("Folders that cohirf fit --model has written.", "MODEL...")],
    model: Annotated[Path, option("--model", "Save the merged model to this new folder.", OUTPUT, "FOLDER")],
    exemplars_only: Annotated[
        bool,
        option(
            "--exemplars-only",
            "Reduce each model to its clusters first: their exemplars, means and numbers of rows.",
            CLUSTERING,
        ),
    ] = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Merge models of different rows into one, without their data."""


@command("new_rows", "cohirf drift model/ new.parquet", "cohirf drift model/ new.csv --json")
def drift(model: ModelPath, data: DataPath, kinds: NewKinds = None, json: Json = False) -> None:
    """Say whether new rows look like those of a model, or whether it should be updated."""


@command("hierarchy", "cohirf cut model/ --clusters 8 --out labels.parquet")
def cut(
    model: ModelPath,
    clusters: Annotated[
        str | None, option("--clusters", "Merge the clusters of the model to exactly this many.", CLUSTERING, "INT")
    ] = None,
    level: Annotated[
        str | None, option("--level", "Cut at this level; at level 0 every row is its own cluster.", CLUSTERING, "INT")
    ] = None,
    data: Annotated[
        Path | None,
        option("--data", "The data of the fit; the names of its rows are copied to the output.", DATA, "DATA"),
    ] = None,
    out: Out = None,
    escape_formulas: EscapeFormulas = False,
    json: Json = False,
    force: Force = False,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters."""


@command(
    "hierarchy",
    "cohirf tree model/",
    "cohirf tree model/ --top 60",
    "cohirf tree model/ --format newick > tree.nwk",
    "cohirf tree model/ --format linkage --out linkage.npy",
)
def tree(
    model: ModelPath,
    format: Annotated[  # noqa: A002 - the option is called so
        str,
        option(
            "--format",
            "text for people; newick or graphml for tree viewers, linkage for SciPy (CSV, or .npy), json for "
            "cohirf.FusionHierarchy.",
            OUTPUT,
            "NAME",
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
            OUTPUT,
            "INT",
            default="in text, the clusters, and at most 30; else the whole tree",
        ),
    ] = None,
    out: Annotated[
        Path | None, option("--out", "The file to write.", OUTPUT, "FILE", default="standard output")
    ] = None,
    force: Force = False,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file."""


@command("report", "cohirf report model/ data.parquet --out report.html")
def report(
    model: ModelPath,
    data: DataPath,
    out: Annotated[Path, option("--out", "The file to write: .html.", OUTPUT, "FILE")],
    label_column: LabelColumn = None,
    force: Force = False,
) -> None:
    """Write a report on a model: one HTML file that needs no network."""


@command("info", "cohirf info model/", "cohirf info data.parquet")
def info(
    path: Annotated[Path, argument("The folder of a model, or a data file.", "MODEL|DATA")],
    delimiter: Delimiter = None,
    header: Header = None,
    json: Json = False,
) -> None:
    """Describe a model or a data file."""


@command("report", "cohirf demo")
def demo(
    out: Annotated[
        Path, option("--out", "Write the report on the digits data to this file.", OUTPUT, "FILE", default="demo.html")
    ] = Path("demo.html"),
) -> None:
    """Cluster four data sets with CoHiRF and with the base method alone; write a report on the digits."""
