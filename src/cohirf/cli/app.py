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
    Command,
    DataOptions,
    MethodOptions,
    NewRowsOptions,
    Screen,
    read_section,
    spread_groups,
)
from cohirf.cli.parameters import SEARCHED, parameter_options, search_options

CONTEXT = {"help_option_names": ["-h", "--help"]}

app = typer.Typer(
    help="Cluster the rows of a file with any clustering method, even if the file is too large for the method alone.",
    context_settings=CONTEXT,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def command(module: str) -> Callable[[Command], Command]:
    """Declare a command: the function of the same name in a module of this package does its work."""

    def add(declared: Command) -> Command:
        @wraps(declared)
        def run(**given: Any) -> None:
            try:
                getattr(import_module(f"cohirf.cli.{module}"), declared.__name__)(**given)
            except KeyboardInterrupt:
                raise Interrupted("Stopped.") from None

        examples = read_section(declared.__doc__, "Examples").replace("\\\n", "").splitlines()
        app.command(epilog="\n\n".join(["Examples:", *examples]), context_settings=CONTEXT)(spread_groups(run))
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


@command("fit")
def fit(
    data: Path,
    method: MethodOptions,
    given: Annotated[dict[str, str], parameter_options()],
    about: DataOptions,
    screen: Screen,
    *,
    out: Path | None = None,
    model: Path | None = None,
    report: Path | None = None,
    escape_formulas: bool = False,
    force: bool = False,
) -> None:
    r"""Cluster the rows of a file.

    Parameters
    ----------
    model : folder
        Save the model to this new folder.
    report : file
        Write a report to this .html file.

    Examples
    --------
    cohirf fit data.csv
    cohirf fit iris.csv --label-column species --clusters 3 --report report.html
    cohirf fit data.parquet --clusters 10 --views 10 --max-features 0.7 --out labels.csv
    cohirf fit big.parquet --estimator dbscan --param eps=0.2 --views 1 --batch-size 20000 --checkpoint ck/ \
    --id-column id --out labels.parquet --model model/
    """


@command("tune")
def tune(
    data: Path,
    search: Annotated[dict[str, str], search_options()],
    method: MethodOptions,
    given: Annotated[dict[str, str], parameter_options(SEARCHED)],
    about: DataOptions,
    screen: Screen,
    *,
    space: str = "recommended",
    alone: bool = False,
    table: Path | None = None,
    force: bool = False,
) -> None:
    """Search for the parameters that cluster the rows of a file best.

    Parameters
    ----------
    space : {"recommended", "paper", "wide"}, default=recommended
        The search space: recommended has the ranges that we recommend, paper those of the paper, and wide adds the
        consensus. Parameters that are given as options are not searched.
    alone : bool
        Tune the base method without CoHiRF.
    table : file
        Write all trials to this .csv or .parquet file.

    Examples
    --------
    cohirf tune data.csv
    cohirf tune iris.csv --label-column species --metric ari --space wide --storage trials.db
    cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100 --table trials.csv
    """


@command("new_rows")
def predict(
    model: Path,
    data: Path,
    reading: NewRowsOptions,
    screen: Screen,
    *,
    out: Path,
    escape_formulas: bool = False,
    force: bool = False,
) -> None:
    """Assign new rows to the clusters of a model.

    Examples
    --------
    cohirf predict model/ new.parquet --out labels.parquet
    """


@command("new_rows")
def update(
    model: Path,
    data: Path,
    reading: NewRowsOptions,
    screen: Screen,
    *,
    report: Path | None = None,
    out: Path | None = None,
    escape_formulas: bool = False,
    force: bool = False,
) -> None:
    """Add the rows of a file to a model; its clusters keep their numbers.

    Parameters
    ----------
    report : file
        Write how clusters have changed over all updates to this .html file, and say how the new rows differ from those
        before, as cohirf drift does.
    out : file
        Write the cluster of each new row to this .parquet, .csv or .npy file.

    Examples
    --------
    cohirf update model/ january.parquet
    cohirf update model/ february.csv --report changes.html --out labels.csv
    """


@command("merge")
def merge(
    models: list[Path], *, model: Path, exemplars_only: bool = False, json: bool = False, force: bool = False
) -> None:
    """Merge models of different rows into one, without their data.

    Parameters
    ----------
    models : MODEL...
        Folders that cohirf fit --model has written.
    model : folder
        Save the merged model to this new folder.
    exemplars_only : bool
        Reduce each model to its clusters first: their exemplars, means and numbers of rows.

    Examples
    --------
    cohirf merge north/ south/ west/ --model all/
    cohirf merge north/ --exemplars-only --model small/
    """


@command("new_rows")
def drift(model: Path, data: Path, *, kinds: list[str] | None = None, json: bool = False) -> None:
    """Say whether new rows look like those of a model, or whether it should be updated.

    Examples
    --------
    cohirf drift model/ new.parquet
    cohirf drift model/ new.csv --json
    """


@command("hierarchy")
def cut(
    model: Path,
    *,
    clusters: str | None = None,
    level: str | None = None,
    data: Path | None = None,
    out: Path | None = None,
    escape_formulas: bool = False,
    json: bool = False,
    force: bool = False,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters.

    Parameters
    ----------
    clusters : int
        Merge the clusters of the model to exactly this many.
    level : int
        Cut at this level; at level 0 every row is its own cluster.
    data : data
        The data of the fit; the names of its rows are copied to the output.

    Examples
    --------
    cohirf cut model/ --clusters 8 --out labels.parquet
    """


@command("hierarchy")
def tree(
    model: Path,
    *,
    format: str = "text",  # noqa: A002 - the option is called so
    top: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file.

    Parameters
    ----------
    format : {"text", "newick", "json", "linkage", "graphml"}, default=text
        text for people; newick or graphml for tree viewers, linkage for SciPy (CSV, or .npy), json for
        cohirf.FusionHierarchy.
    top : int, default=in text, the clusters, and at most 30; else the whole tree
        Only the top of the tree, with at most this many leaves. In text, a number above that of the clusters also shows
        parts of clusters.
    out : file, default=standard output
        The file to write.

    Examples
    --------
    cohirf tree model/
    cohirf tree model/ --top 60
    cohirf tree model/ --format newick > tree.nwk
    cohirf tree model/ --format linkage --out linkage.npy
    """


@command("report")
def report(model: Path, data: Path, *, out: Path, label_column: str | None = None, force: bool = False) -> None:
    """Write a report on a model: one HTML file that needs no network.

    Parameters
    ----------
    out : file
        The file to write: .html.

    Examples
    --------
    cohirf report model/ data.parquet --out report.html
    """


@command("info")
def info(path: Path, *, delimiter: str | None = None, header: bool | None = None, json: bool = False) -> None:
    """Describe a model or a data file.

    Parameters
    ----------
    path : MODEL|DATA
        The folder of a model, or a data file.

    Examples
    --------
    cohirf info model/
    cohirf info data.parquet
    """


@command("report")
def demo(*, out: Path = Path("demo.html")) -> None:
    """Cluster four data sets with CoHiRF and with the base method alone; write a report on the digits.

    Parameters
    ----------
    out : file, default=demo.html
        Write the report on the digits data to this file.

    Examples
    --------
    cohirf demo
    """
