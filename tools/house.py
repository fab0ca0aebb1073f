"""Print figures of the package: its size, what a fit runs, how dense the code is, what it imports.

    python -m tools.house

There are no goals: CONTRIBUTING shows the figures of today. Figures "per 1,000 lines" are per 1,000
lines of source, comments and docstrings included. A room is a module or package just below
``cohirf``. A call is counted once for each pair of functions, and goes upwards if the import layers
of pyproject.toml have the room of the called function above that of the caller. Times of imports are
those of the processor, the best of five fresh processes.
"""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tokenize
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from inspect import signature
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from sklearn.datasets import make_blobs

import cohirf

PACKAGE = Path(cohirf.__file__).parent
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
LONGEST_LINE = 100  # characters
# Modules that know containers of rows: tests for a kind of container are expected in them. What a
# container says of itself (``is_dense``) counts as a test, too.
BACKENDS = (
    "cohirf.app.explain.table",  # the rows that explanations read, whatever the user passes
    "cohirf.data",
    "cohirf.engines.dask",
    "cohirf.graphs.graph",
    "cohirf.rows.arrays",
    "cohirf.rows.containers",
    "cohirf.rows.storage",
    "cohirf.scratch",  # a storage
    "cohirf.sources",
    "cohirf.summary.vectors",
)
CONTAINER_TESTS = {
    "issparse",
    "is_dask",
    "is_on_device",
    "is_here",
    "is_torch",
    "is_cupy",
    "is_dense",
}
# The estimator's own files: its parameters and methods, and its fitted attributes.
OWN = ("cohirf.estimator", "cohirf.summary.fitted")
# What may take the estimator: its own file, and what is above it.
ABOVE = (
    "cohirf.estimator",
    "cohirf.facts",
    "cohirf.merge_models",
    "cohirf.inspection",
    "cohirf.app",
)
# Names of variables that hold the estimator outside its own file.
ESTIMATORS = {"model", "owner", "updated", "fitted", "estimator"}
IMPORT_RUNS = 5  # the fastest of as many fresh processes counts


@dataclass(frozen=True)
class Figure:
    """A measured figure."""

    name: str
    value: float

    def __str__(self) -> str:
        """Return a line of the table."""
        shown = f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.2f}"
        return f"{self.name:64}{shown:>10}"


@dataclass(frozen=True)
class Module:
    """A module of the package: its name, its text and its syntax tree."""

    name: str
    text: str
    tree: ast.Module

    @property
    def n_lines(self) -> int:
        """Number of lines of source."""
        return len(self.text.splitlines())

    def nodes(self, *types: type[ast.AST]) -> Iterator[Any]:
        """Yield the nodes of these types."""
        return (node for node in ast.walk(self.tree) if isinstance(node, types))

    @property
    def is_backend(self) -> bool:
        """Whether tests for containers are expected in the module."""
        return is_in(self.name, *BACKENDS)


def is_in(module: str, *packages: str) -> bool:
    """Return whether a module is one of some packages, or in it."""
    return any(f"{module}.".startswith(f"{package}.") for package in packages)


@cache
def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads(PROJECT.read_text(encoding="utf-8"))


def measure() -> Iterator[Figure]:
    """Yield all figures."""
    modules = read_modules()
    yield from measure_size(modules)
    yield from measure_density(modules)
    yield from measure_ties(modules)
    yield from measure_runs()
    yield from measure_imports()


def read_modules() -> list[Module]:
    """Return all modules of the package."""
    modules = []
    for path in sorted(PACKAGE.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        modules.append(Module(module_name(path), text, ast.parse(text)))
    return modules


def module_name(path: Path) -> str:
    """Return the name under which a file of the package is imported."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__")


# -- size


def measure_size(modules: list[Module]) -> Iterator[Figure]:
    """Yield how much there is."""
    yield Figure("lines of source", sum(module.n_lines for module in modules))
    yield Figure("lines of code", sum(len(lines_of_code(module.text)) for module in modules))
    yield Figure("files", len(modules))
    yield Figure("packages", len({path.parent for path in PACKAGE.rglob("*.py")}))
    yield Figure("top-level names defined in two files or more", len(repeated_names(modules)))
    yield Figure("parameters of CoHiRF", len(signature(cohirf.CoHiRF).parameters))
    yield Figure("options of the program", count_options(program()))


def lines_of_code(text: str) -> set[int]:
    """Return the numbers of lines that are neither empty nor comments nor docstrings."""
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in NO_CODE:
            lines |= set(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            lines -= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def repeated_names(modules: list[Module]) -> dict[str, list[str]]:
    """Return the functions, classes and constants that several modules define at their top level,
    and these modules.
    """
    places: dict[str, list[str]] = defaultdict(list)
    for module in modules:
        for name in {*assigned_names(module), *_functions_and_classes(module)}:
            places[name].append(module.name)
    return {name: found for name, found in places.items() if len(found) > 1}


def _functions_and_classes(module: Module) -> list[str]:
    return [
        node.name for node in module.tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]


def assigned_names(module: Module) -> list[str]:
    """Return the names that a module assigns at its top level, except those like ``__all__``."""
    found = []
    for node in module.tree.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        else:
            continue
        names = [name for target in targets for name in ast.walk(target)]
        found += [name.id for name in names if isinstance(name, ast.Name)]
    return [name for name in found if not name.startswith("__")]


def program() -> Any:
    """Return the program as a tree of commands: ``app`` beside the function that starts it."""
    import typer

    package, _, _ = project()["project"]["scripts"]["cohirf"].partition(":")
    return typer.main.get_command(import_module(f"{package}.app").app)


def count_options(command: Any) -> int:
    """Return the number of options of a command and of all commands below it, each counted for each
    command.
    """
    own = sum(param.param_type_name == "option" for param in command.params)
    return own + sum(map(count_options, getattr(command, "commands", {}).values()))


# -- density


def measure_density(modules: list[Module]) -> Iterator[Figure]:
    """Yield how much a reader has to take in at once."""
    lines = [line for module in modules for line in module.text.splitlines()]
    thousands = len(lines) / 1_000
    constants = [name for module in modules for name in assigned_names(module)]
    capitals = [name for name in constants if name.isupper()]
    conditional = sum(len(list(module.nodes(ast.IfExp))) for module in modules)
    packed = sum(map(_is_packed, (node for one in modules for node in one.nodes(ast.Assign))))
    long = sum(len(line) > LONGEST_LINE for line in lines)
    yield Figure("module constants", len(constants))
    yield Figure("module constants per 1,000 lines", len(constants) / thousands)
    yield Figure("module constants in capitals", len(capitals))
    yield Figure("module constants in capitals per 1,000 lines", len(capitals) / thousands)
    yield Figure("conditional expressions per 1,000 lines", conditional / thousands)
    yield Figure("packed assignments (a, b = x, y) per 1,000 lines", packed / thousands)
    yield Figure(f"lines above {LONGEST_LINE} characters, %", 100 * long / len(lines))


def _is_packed(node: ast.Assign) -> bool:
    return isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


# -- ties


def measure_ties(modules: list[Module]) -> Iterator[Figure]:
    """Yield what functions know of the estimator, of types and of containers."""
    parameters = [node for module in modules for node in module.nodes(ast.arg) if node.annotation]
    of_any = sum(_is_named(node.annotation, "Any") for node in parameters)
    outside = [module for module in modules if not is_in(module.name, *OWN)]
    yield Figure("parameters annotated Any, %", 100 * of_any / len(parameters))
    below = [module for module in modules if not is_in(module.name, *ABOVE)]
    yield Figure("parameters model below the estimator", sum(map(count_models, below)))
    yield Figure("vars() or __dict__ of the estimator elsewhere", sum(map(count_vars, outside)))
    yield Figure(
        "kinds of rows: classes named so, Rows itself left out", count_kinds_of_rows(modules)
    )
    backends = [module for module in modules if module.is_backend]
    others = [module for module in modules if not module.is_backend]
    yield Figure("tests for a container in backends", sum(map(count_container_tests, backends)))
    yield Figure("tests for a container outside", sum(map(count_container_tests, others)))


def _is_named(node: ast.expr | None, *names: str) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def count_models(module: Module) -> int:
    """Return how many parameters of functions have the name ``model``, of whatever type."""
    return sum(node.arg == "model" for node in module.nodes(ast.arg))


def count_kinds_of_rows(modules: list[Module]) -> int:
    """Return how many classes are a kind of rows by their names, such as ``ActiveRows``."""
    names = {node.name for module in modules for node in module.nodes(ast.ClassDef)}
    return len({name for name in names if name.endswith(("Row", "Rows"))} - {"Rows"})


def count_vars(module: Module) -> int:
    """Return how often a module opens the dictionary of a variable that holds the estimator."""
    calls = [node for node in module.nodes(ast.Call) if _is_named(node.func, "vars")]
    opened = [argument for node in calls for argument in node.args]
    opened += [node.value for node in module.nodes(ast.Attribute) if node.attr == "__dict__"]
    return sum(_is_named(node, *ESTIMATORS) for node in opened)


def count_container_tests(module: Module) -> int:
    """Return how often a module asks which container it has: imported functions, and attributes.

    A variable of a module may have the same name.
    """
    imported = {
        alias.asname or alias.name for node in module.nodes(ast.ImportFrom) for alias in node.names
    }
    defined = set(_functions_and_classes(module))
    tests = CONTAINER_TESTS & (imported | defined)
    names = sum(node.id in tests for node in module.nodes(ast.Name))
    return names + sum(node.attr in CONTAINER_TESTS for node in module.nodes(ast.Attribute))


# -- runs


def measure_runs() -> Iterator[Figure]:
    """Yield what fits of 1,000 rows and a prediction run, after a first run that imports what they
    need.
    """
    X, _ = make_blobs(1_000, n_features=5, centers=5, random_state=0)
    model = cohirf.CoHiRF(random_state=0)
    given = cohirf.CoHiRF(n_clusters=5, random_state=0)
    runs: dict[str, Callable[[], object]] = {
        "CoHiRF().fit": lambda: model.fit(X),
        "CoHiRF(n_clusters=5).fit": lambda: given.fit(X),
        "predict": lambda: model.predict(X),
    }
    for name, run in runs.items():
        run()
        calls = calls_of(run)
        functions = {called for _, called in calls}
        yield Figure(f"{name}: files", len({code.co_filename for code in functions}))
        yield Figure(f"{name}: functions", len(functions))
        yield Figure(f"{name}: rooms, the parts of the package", len(set(map(room_of, functions))))
        yield Figure(f"{name}: calls from one room to another", sum(map(_changes_room, calls)))
        yield Figure(f"{name}: of these, upwards in the import layers", sum(map(_climbs, calls)))


def calls_of(run: Callable[[], object]) -> set[tuple[CodeType | None, CodeType]]:
    """Return the pairs of functions of the package that call each other in a run, directly or
    through other packages.

    Comprehensions and lambdas are no functions of their own: what they call, their function calls.
    """
    calls: set[tuple[CodeType | None, CodeType]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        if event == "call" and _is_function(frame.f_code):
            caller = frame.f_back
            while caller is not None and not _is_function(caller.f_code):
                caller = caller.f_back
            calls.add((None if caller is None else caller.f_code, frame.f_code))

    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


@cache
def _is_function(code: CodeType) -> bool:
    return Path(code.co_filename).is_relative_to(PACKAGE) and not code.co_name.startswith("<")


@cache
def room_of(code: CodeType) -> str:
    """Return the part of the package that a function is in: the module or package just below."""
    return ".".join(module_name(Path(code.co_filename)).split(".")[:2])


def _changes_room(call: tuple[CodeType | None, CodeType]) -> bool:
    caller, called = call
    return caller is not None and room_of(caller) != room_of(called)


def _climbs(call: tuple[CodeType | None, CodeType]) -> bool:
    caller, called = call
    if caller is None or not _changes_room(call):
        return False
    return floor_of(called) > floor_of(caller)


@cache
def floor_of(code: CodeType) -> int:
    """Return the floor of a function: its layer in the contracts of imports, 0 for the lowest.

    A function in no layer is on the highest floor.
    """
    module = module_name(Path(code.co_filename))
    names = [name for name in layers() if is_in(module, name)]
    if not names:
        return len(layers())
    return layers()[max(names, key=len)]


@cache
def layers() -> dict[str, int]:
    """Return the floor of each module and package that the first contract of imports names."""
    rows = project()["tool"]["importlinter"]["contracts"][0]["layers"]
    floors = {}
    for number, row in enumerate(reversed(rows)):
        for name in row.replace("|", " ").replace(":", " ").split():
            floors[name.strip("()")] = number
    return floors


# -- imports


MEASURED_IMPORT = """
import sys, time
start = time.process_time()
{statement}
elapsed = time.process_time() - start
print(elapsed, len([name for name in sys.modules if name.startswith("cohirf")]))
"""


def measure_imports() -> Iterator[Figure]:
    """Yield what imports load, and how long they take beside scikit-learn's.

    ``import cohirf`` alone loads next to nothing: its names are loaded when they are first used.
    """
    anchor = "import sklearn.cluster"
    statements = (anchor, "import cohirf", "from cohirf import CoHiRF")
    for statement in statements:
        time_import(statement)  # compiles what has changed
    runs = [
        {statement: time_import(statement) for statement in statements} for _ in range(IMPORT_RUNS)
    ]
    best = {statement: min(run[statement] for run in runs) for statement in statements}
    for statement in statements[1:]:
        seconds, n_modules = best[statement]
        yield Figure(f"{statement}: modules of cohirf", n_modules)
        yield Figure(f"{statement}: time over {anchor}", seconds / best[anchor][0])


def time_import(statement: str) -> tuple[float, int]:
    """Return the seconds of the processor that an import takes in a fresh process, and how many
    modules of the package are loaded then.
    """
    environment = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    done = subprocess.run(
        [sys.executable, "-c", MEASURED_IMPORT.format(statement=statement)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, n_modules = done.stdout.split()
    return float(seconds), int(n_modules)


def main() -> None:
    """Print the table."""
    for figure in measure():
        print(figure)


if __name__ == "__main__":
    main()
