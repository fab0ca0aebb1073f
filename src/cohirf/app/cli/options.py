"""Options made from signatures and docstrings: groups that several commands take, and parameters of
CoHiRF and tune.

A parameter before ``*`` is an argument, one behind it an option. Docstrings are in the format of
numpydoc: the type of a parameter becomes the placeholder of its value. Nothing here imports NumPy:
help must be fast.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache
from importlib.resources import files
from inspect import Parameter, Signature, cleandoc, signature
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cohirf.app.cli.errors import BadInputError
from cohirf.clusterers.names import NAMES

PANELS = {  # headings in the help; all other options are under Output
    **dict.fromkeys(("label_column", "id_column", "drop", "kinds", "scale", "impute"), "Data"),
    **dict.fromkeys(
        ("delimiter", "header", "sheet", "data", "vectors", "text", "images", "places"), "Data"
    ),
    **dict.fromkeys(("estimator", "param", "eps", "clusters", "recluster"), "Clustering"),
}
FLAGS_OF = {"kinds": "--as", "header": "--header/--no-header"}  # where they differ from the names
METAVARS = {"bool": "true|false", "str": "TEXT"}
PARAMETER = re.compile(r"^(\w+) : (.+?)(?:, default=(.+))?\n((?: {4}.+(?:\n|$))+)", re.MULTILINE)
NOT_TYPED = re.compile(r'"[\w-]+"|\bor\b|None|callable|list|RandomState instance|str or (?=path)')
Command = Callable[..., int | None]  # returns the exit status; None is 0


@dataclass(frozen=True)
class Documented:
    """What a numpydoc docstring says about a parameter: its type, its default and its text."""

    kind: str
    default: str
    text: str


def read_docstring(docstring: str | None) -> dict[str, Documented]:
    r"""Return the parameters that a docstring describes.

    Examples
    --------
    >>> from cohirf.app.cli.options import read_docstring
    >>> head = "Title.\n\nParameters\n----------\n"
    >>> read_docstring(head + "a : int, default=1\n    A number.\n    Any.")
    {'a': Documented(kind='int', default='1', text='A number. Any.')}
    """
    return {
        name: Documented(kind, default.strip('"'), " ".join(text.split()))
        for name, kind, default, text in PARAMETER.findall(read_section(docstring, "Parameters"))
    }


def read_section(docstring: str | None, title: str) -> str:
    """Return a section of a docstring."""
    return (
        cleandoc(docstring or "")
        .partition(f"{title}\n{'-' * len(title)}\n")[2]
        .partition("\n\n")[0]
    )


def read_introduction(docstring: str | None) -> str:
    """Return the paragraphs of a docstring before its first section, each as one line."""
    text = re.split(r"\n\n\w+\n-+\n", cleandoc(docstring or ""))[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def to_option(
    flags: str, found: Documented, panel: str, *, is_switch: bool = False, checked: bool = False
) -> Any:
    """Return an option of typer.

    If it is ``checked``, a value that is not among its choices is refused.
    """
    choices = tuple(re.findall(r'"([\w-]+)"', found.kind))

    def check(given: str | None) -> str | None:
        if given is not None and given not in choices:
            raise BadInputError(
                f"{flags} {given!r} is not valid: give {', '.join(choices[:-1])} or {choices[-1]}."
            )
        return given

    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    kinds = re.findall(r"[\w=]+", NOT_TYPED.sub("", found.kind))
    if kinds:
        metavar = "|".join([*(METAVARS.get(kind, kind.upper()) for kind in kinds), *choices])
    else:
        metavar = "NAME"
    text = found.text
    if not kinds and not all(choice in text for choice in choices):
        text = f"{text.removesuffix('.')} ({', '.join(choices[:-1])} or {choices[-1]})."
    if found.default not in ("", "None"):
        text += f" [default: {found.default}]"
    return typer.Option(
        flags,
        help=text.replace("[", r"\["),  # rich takes brackets for markup
        metavar="" if is_switch else metavar,
        rich_help_panel=panel,
        show_default=False,
        readable=False,  # our own messages are clearer than typer's
        autocompletion=complete if choices else None,
        callback=check if choices and checked else None,
    )


def find_definition(place: str, name: str) -> Any:
    """Return the syntax tree of a class or a function in a file of the package, without importing
    it.
    """
    return next(node for node in _parse_file(place).body if getattr(node, "name", None) == name)


@cache
def _parse_file(place: str) -> ast.Module:
    return ast.parse(files("cohirf").joinpath(place).read_text(encoding="utf-8"))


def read_function(place: str, name: str, names: dict[str, Any]) -> Command:
    """Return a function of a file with its signature and its docstring, but without its body and
    what that imports.
    """
    node = find_definition(place, name)
    namespace = dict(names)
    node.body = node.body[:1]
    node.decorator_list = []  # they are about the body
    # annotations are types
    code = compile(ast.Module([node], []), f"<{place}>", "exec", dont_inherit=True)
    exec(code, namespace)
    function: Command = namespace[name]
    return function


def make_command(function: Command, run: Command) -> Command:
    """Return a command of typer that takes the parameters of a function, and calls ``run`` with
    them.

    A parameter may be a group: its type is a dataclass, which has an option for each field, or a
    dict that is annotated with options, which has those that the user gives.
    """
    wanted = signature(function).parameters
    own = read_docstring(function.__doc__)
    parameters = [
        made
        for parameter in wanted.values()
        for made in _group_options(parameter.annotation) or [_declare(parameter, own)]
    ]

    def command(**given: Any) -> int | None:
        return run(
            **{
                name: _gather(name, parameter.annotation, given)
                for name, parameter in wanted.items()
            }
        )

    command.__name__, command.__doc__ = function.__name__, read_introduction(function.__doc__)
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # functions have it
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _declare(parameter: Parameter, own: dict[str, Documented]) -> Parameter:
    """Return a parameter that typer takes as an argument or an option, with its own or a shared
    text.
    """
    name = parameter.name
    hint = parameter.annotation
    groups = (SINGLE, ScreenOptions.__doc__, MethodOptions.__doc__, DataOptions.__doc__)
    found = own.get(name) or next(
        texts[name] for texts in map(read_docstring, groups) if name in texts
    )
    if parameter.kind is Parameter.KEYWORD_ONLY:
        # it has its own error
        is_switch = bool in (hint, *get_args(hint))
        checked = name != "estimator"
        made = to_option(
            flag_of(name), found, PANELS.get(name, "Output"), is_switch=is_switch, checked=checked
        )
    else:
        made = typer.Argument(
            help=found.text, metavar=found.kind, show_default=False, readable=False
        )
    return Parameter(
        name, Parameter.KEYWORD_ONLY, default=parameter.default, annotation=Annotated[hint, made]
    )


def flag_of(name: str) -> str:
    """Return the option of a parameter, or both if it can be switched on and off."""
    return FLAGS_OF.get(name, f"--{name.replace('_', '-')}")


def _group_options(hint: Any) -> list[Parameter]:
    """Return the options of a group; none for a single option."""
    if is_dataclass(hint):
        own = read_docstring(hint.__doc__)
        hints = get_type_hints(hint)
        single = (
            Parameter(one.name, Parameter.KEYWORD_ONLY, default=one.default) for one in fields(hint)
        )
        return [
            _declare(parameter.replace(annotation=hints[parameter.name]), own)
            for parameter in single
        ]
    return [
        Parameter(
            name, Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, made]
        )
        for name, made in _options_in(hint).items()
    ]


def _options_in(hint: Any) -> dict[str, Any]:
    return next((found for found in get_args(hint)[1:] if isinstance(found, dict)), {})


def _gather(name: str, hint: Any, given: dict[str, Any]) -> Any:
    if is_dataclass(hint):
        return hint(**{field.name: given[field.name] for field in fields(hint)})  # type: ignore[operator]  # a class
    if members := _options_in(hint):
        return {member: given[member] for member in members if given[member] is not None}
    return given[name]


@dataclass(frozen=True)
class ScreenOptions:
    """What is printed.

    Parameters
    ----------
    json : bool
        Print one JSON document, for programs.
    quiet : bool
        Print only errors and, with --json, the document.
    """

    json: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class MethodOptions:
    """The base method.

    Parameters
    ----------
    estimator : {NAMES}, default=a quick K-Means
        The base method.
    param : key=value
        A parameter of the base method, such as eps=0.2. May be repeated.
    """

    estimator: str | None = None
    param: list[str] | None = None


MethodOptions.__doc__ = str(MethodOptions.__doc__).replace(
    "NAMES", ", ".join(f'"{name}"' for name in NAMES)
)


@dataclass(frozen=True)
class DataOptions:
    """Which columns of the data of a fit are features, and how they are prepared.

    Parameters
    ----------
    label_column : name
        Column with known classes: not a feature; the clusters are compared with it.
    id_column : name
        Column with the names of the rows: not a feature; it is copied to the output.
    drop : name
        A column to leave out. May be repeated.
    kinds : name=kind, default=decided from its cells
        What a column is: number, category, boolean, date, date:FORMAT, id or text. All cells that
        are not of this kind are taken as missing. May be repeated.
    scale : {"auto", "standard", "minmax", "none"}, default=auto
        standard: mean 0 and standard deviation 1; minmax: range 0 to 1; none; auto: none if
        --estimator is given, because parameters such as eps refer to unscaled data, and standard
        otherwise.
    impute : {"median", "mean", "none"}, default=median
        median or mean: fill missing numbers with the median or mean of their column; in categories,
        missing cells are the level "missing". none: refuse them.
    delimiter : str, default=found
        Character that separates the values of a CSV file.
    header : bool, default=it does
        Whether the first line of a CSV file or sheet contains column names.
    sheet : name, default=the first
        The sheet of a spreadsheet.
    """

    label_column: str | None = None
    id_column: str | None = None
    drop: list[str] | None = None
    kinds: list[str] | None = None
    scale: str = "auto"
    impute: str = "median"
    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None

    def __post_init__(self) -> None:
        read_kinds(self.kinds)

    def scaling(self, estimator: str | None) -> str:
        """Return the scaling; with auto, it depends on whether the user names a base method."""
        if self.scale != "auto":
            return self.scale
        return "standard" if estimator is None else "none"

    def arguments(self, scaling: str) -> dict[str, Any]:
        """Return the arguments of ``cohirf.app.preparation.prepare``, besides the data."""
        given = {name: value for name, value in vars(self).items() if name != "scale"}
        given |= {"drop": self.drop or (), "kinds": read_kinds(self.kinds)}
        return given | {"scaling": scaling}

    def to_arguments(self, scaling: str) -> list[str]:
        """Return the options as arguments of a fit command, without the data file."""
        given = vars(self) | {
            "scale": scaling,
            "impute": None if self.impute == "median" else self.impute,
        }
        if self.header is None:
            words = []
        else:
            words = [f"--{'' if self.header else 'no-'}header"]
        for name, value in given.items():
            for word in value if isinstance(value, list) else [value]:
                words += [] if word is None or name == "header" else [flag_of(name), word]
        return words


SINGLE = """Single options and arguments that several commands take.

Parameters
----------
data : DATA
    The data: a Parquet, CSV, Arrow, .npy or Zarr file, or a folder of Parquet files.
model : MODEL
    The file that cohirf fit --model has written.
out : file
    Write the cluster of each row to this .parquet, .csv or .npy file.
force : bool
    Replace existing output files.
"""


def read_kinds(wishes: list[str] | None) -> dict[str, str]:
    """Return the kind of each column that ``--as`` names."""
    kinds = {}
    for wish in wishes or ():
        name, _, kind = wish.rpartition("=")
        if not name or not kind:
            raise BadInputError(
                f"--as {wish!r} is not valid: give NAME=KIND, such as --as zip=category."
            )
        kinds[name] = kind
    return kinds


# -- parameters of CoHiRF and of tune: names, allowed values, defaults and texts are those of their
# docstrings ---------

BASE_METHOD = "kmeans"
DEFAULT_SEED = 0  # the same command gives the same clusters
# From this number of rows on, the default batch size is auto. Without a base method and with
# K-Means, which take time in proportion to the rows, also from this number of bytes on: one batch
# is faster, and its clusters are better.
BATCHED_ROWS = 50_000
BATCHED_BYTES = 2**30

SHORT = {"n_clusters": "clusters", "random_state": "seed"}
OF_SIZE = ("batch_size", "batches", "checkpoint", "device", "n_jobs")
NOT_OPTIONS = {
    "estimator",  # --estimator and --param
    "verbose",  # --quiet
    *("medoid_weights", "medoid", "max_iter"),  # no page recommends to change them
    "metric",  # --vectors: cosine
}
SEARCHED = ("n_clusters", "views", "max_features", "batch_size", "random_state")
DEFAULTS = {  # where the program's differ from those of the class
    "n_clusters": "that of the base method, else auto",
    "batch_size": f"auto from {BATCHED_ROWS:,} rows on, for K-Means from 1 GB on, none below",
    "random_state": str(DEFAULT_SEED),
}
SEARCH_DEFAULTS = {"timeout": "60"}


def read_file(place: str, name: str) -> dict[str, Documented]:
    """Return the parameters of a class or a function in a file of the package, which is read as
    text.
    """
    return read_docstring(ast.get_docstring(find_definition(place, name)))


DOCUMENTED = {
    name: found
    for name, found in read_file("estimator.py", "CoHiRF").items()
    if name not in NOT_OPTIONS
}
FLAGS = {name: f"--{SHORT.get(name, name).replace('_', '-')}" for name in DOCUMENTED}
SEARCH_FLAGS = {
    "metric": "--metric",
    "n_trials": "--trials",
    "timeout": "--timeout",
    "storage": "--storage",
}


def parameter_options(names: Iterable[str] = tuple(DOCUMENTED)) -> dict[str, Any]:
    """Return an option of typer for each of the parameters of CoHiRF, as far as it has them."""
    names = [name for name in names if name in DOCUMENTED]
    panels = {name: "Size" if name in OF_SIZE else "Clustering" for name in names}
    brief = {name: _in_brief(DOCUMENTED[name], FLAGS, DEFAULTS.get(name)) for name in names}
    return {name: to_option(FLAGS[name], brief[name], panels[name]) for name in names}


def search_options() -> dict[str, Any]:
    """Return an option of typer for each of the parameters of ``tune`` that are one."""
    documented = read_file("tuning/tune.py", "tune")
    brief = {
        name: _in_brief(documented[name], SEARCH_FLAGS, SEARCH_DEFAULTS.get(name))
        for name in SEARCH_FLAGS
    }
    return {
        name: to_option(flag, brief[name], "Search", checked=True)
        for name, flag in SEARCH_FLAGS.items()
    }


def _in_brief(found: Documented, flags: Mapping[str, str], default: str | None) -> Documented:
    """Return the first sentence about a parameter of the library, in words of options, with the
    program's default.
    """

    def in_words(match: re.Match[str]) -> str:
        return " ".join(filter(None, [flags.get(match[1], match[1]), match[2]]))

    text = re.split(r"(?<=\.) (?=[A-Z\"])", found.text)[0]
    text = re.sub(r'``(\w+)(?:="?([\w.]+)"?)?``', in_words, text)
    return replace(found, text=text, default=default or found.default)


FitParameters = Annotated[dict[str, str], parameter_options()]  # those that the user gives, as text
SearchedParameters = Annotated[dict[str, str], parameter_options(SEARCHED)]
SearchParameters = Annotated[dict[str, str], search_options()]


def read_parameters(given: Mapping[str, str]) -> dict[str, Any]:
    """Return the parameters of CoHiRF that options give as text."""
    # imports scikit-learn, which help does not need
    from cohirf.clusterers.names import read_parameter
    from cohirf.estimator import CoHiRF

    return {name: read_parameter(CoHiRF, name, text) for name, text in given.items()}


def settle_parameters(
    parameters: Mapping[str, Any], n_rows: int, n_bytes: int = 0, base: Any = None
) -> dict[str, Any]:
    """Add the defaults of the command line that differ from those of CoHiRF, around a base method
    or without one.
    """
    chosen: dict[str, Any] = {"random_state": DEFAULT_SEED}
    is_linear = base is None or type(base).__name__ == "KMeans"
    if n_rows >= BATCHED_ROWS and (n_bytes >= BATCHED_BYTES or not is_linear):
        chosen["batch_size"] = "auto"
    return chosen | dict(parameters)


def to_arguments(parameters: Mapping[str, Any]) -> list[str]:
    """Return parameters of CoHiRF as command-line arguments, which :func:`read_parameters`
    reads.
    """
    return [word for name, value in parameters.items() for word in (FLAGS[name], to_text(value))]


def to_text(value: Any) -> str:
    """Return a value as text that parses to the same value."""
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return str(value)
