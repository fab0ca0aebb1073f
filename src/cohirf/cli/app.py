"""The program: commands and their options, given to typer, which is imported here alone."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import cohirf
from cohirf.cli import cut, demo, fit, generate, info, predict, report, tree, tune
from cohirf.cli.errors import Interrupted
from cohirf.cli.estimator_options import estimator_options
from cohirf.cli.spec import Argument, Option
from cohirf.optional import import_optional

HELP = "Cluster a file with any clustering method, at sizes where it cannot run alone, and understand the result."
HIDDEN = {"tune": ("checkpoint",)}  # what is not for a command that takes the parameters of CoHiRF
CONTEXT = {"help_option_names": ["-h", "--help"]}

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "cohirf fit data.csv",
        "cohirf fit data.parquet --estimator dbscan --param eps=0.2 --out labels.parquet --model model/",
        "cohirf predict model/ new.parquet --out labels.parquet",
    ),
    "fit": (
        "cohirf fit data.csv",
        "cohirf fit iris.csv --label-column species --param n_clusters=3 --report report.html",
        "cohirf fit data.parquet --consensus majority --medoid-weights --views 10 --max-features 0.7 --out labels.csv",
        "cohirf fit big.parquet --estimator dbscan --param eps=0.2 --views 1 --batch-size 20000 --checkpoint ck/ "
        "--id-column id --out labels.parquet --model model/",
    ),
    "tune": (
        "cohirf tune data.csv",
        "cohirf tune iris.csv --label-column species --metric ari --space wide --storage trials.db",
        "cohirf tune data.parquet --estimator dbscan --param min_samples=5 --views 1 --trials 100 --out labels.parquet",
    ),
    "predict": ("cohirf predict model/ new.parquet --out labels.parquet",),
    "cut": ("cohirf cut model/ --clusters 8 --out labels.parquet",),
    "tree": ("cohirf tree model/ --format newick > tree.nwk", "cohirf tree model/ --format linkage --out linkage.npy"),
    "report": ("cohirf report model/ data.parquet --out report.html",),
    "info": ("cohirf info model/", "cohirf info data.parquet"),
    "spheres": ("cohirf generate spheres --n 1e6 --out spheres.npy",),
    "hypercube": ("cohirf generate hypercube --n 1000 --noise 10000 --out hypercube.parquet",),
    "blobs": ("cohirf generate blobs --n 1e5 --clusters 8 --out blobs.csv",),
    "demo": ("cohirf demo",),
}


@cache
def build_command() -> Any:
    """Return the program as an object whose ``main`` takes a list of arguments."""
    typer = import_optional("typer", "cli")
    options = {"no_args_is_help": True, "pretty_exceptions_enable": False, "rich_markup_mode": "rich"}
    app = typer.Typer(help=HELP, epilog=_epilog(""), context_settings=CONTEXT, **options)
    app.callback()(_with_version(typer))
    for function in (fit.fit, tune.tune, predict.predict, cut.cut, tree.tree, report.report, info.info):
        _add(typer, app, function)
    generators = typer.Typer(help="Write synthetic data of any size.", **options)
    for generator in (generate.spheres, generate.hypercube, generate.blobs):
        _add(typer, generators, generator)
    app.add_typer(generators, name="generate")
    _add(typer, app, demo.demo)
    return typer.main.get_command(app)


def _add(typer: Any, app: Any, function: Callable[..., None]) -> None:
    """Make a function a command: its annotations become typer's."""

    def command(**given: Any) -> None:
        try:
            function(**given)
        except KeyboardInterrupt:
            raise Interrupted("Stopped.") from None

    parameters = _parameters(typer, function)
    command.__doc__ = function.__doc__
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]  # functions have it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    name = function.__name__
    app.command(name, epilog=_epilog(name), context_settings=CONTEXT)(command)


def _parameters(typer: Any, function: Callable[..., None]) -> list[inspect.Parameter]:
    """Return the parameters of a command; those of CoHiRF stand in the place of ``**options``."""
    hints = get_type_hints(function, include_extras=True)
    found = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            continue
        found.append(_parameter(typer, parameter.name, hints[parameter.name], parameter.default))
        if parameter.name == "param":
            found += [
                _parameter(
                    typer,
                    name,
                    Annotated[
                        bool if option.is_switch else str | None,
                        replace(option.option, hidden=name in HIDDEN.get(function.__name__, ())),
                    ],
                    False if option.is_switch else None,
                )
                for name, option in estimator_options().items()
            ]
    return found


def _parameter(typer: Any, name: str, annotation: Any, default: Any) -> inspect.Parameter:
    assert get_origin(annotation) is Annotated
    kind, described = get_args(annotation)
    told = _to_argument(typer, described) if isinstance(described, Argument) else _to_option(typer, described)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, told])


def _to_argument(typer: Any, argument: Argument) -> Any:
    # readable: what cannot be read is refused in words of our own
    return typer.Argument(help=_escape(argument.help), metavar=argument.metavar, show_default=False, readable=False)


def _to_option(typer: Any, option: Option) -> Any:
    return typer.Option(
        *option.flags,
        help=_escape(option.help if option.default is None else f"{option.help} [default: {option.default}]"),
        metavar=option.metavar,
        rich_help_panel=option.panel,
        show_default=False,
        readable=False,
        hidden=option.hidden,
        autocompletion=_completer(option.choices) if option.choices else None,
    )


def _completer(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def _with_version(typer: Any) -> Callable[..., None]:
    def show(asked: bool) -> None:
        if asked:
            typer.echo(f"cohirf {cohirf.__version__}")
            raise typer.Exit

    def callback(version: bool) -> None: ...

    option = typer.Option("--version", help="Print the version.", is_eager=True, callback=show)
    annotation = Annotated[bool, option]
    callback.__annotations__ = {"version": annotation}
    parameter = inspect.Parameter("version", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
    callback.__signature__ = inspect.Signature([parameter])  # type: ignore[attr-defined]  # functions have it
    return callback


def _epilog(name: str) -> str:
    # rich joins lines: each example is a paragraph of its own
    return "\n\n".join(["Examples:", *(f"  {_escape(example)}" for example in EXAMPLES[name])])


def _escape(text: str) -> str:
    escaped: str = import_optional("rich.markup", "cli").escape(text)
    return escaped
