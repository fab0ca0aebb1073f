"""Write synthetic data of any size: ``python -m cohirf.datasets blobs 2000 blobs.csv --n-clusters 4``.

There is a kind of data for each function ``write_*`` of the package, and an option for each of its numbers.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from inspect import getdoc, signature
from pathlib import Path

from cohirf import datasets

SUFFIXES = (".npy", ".parquet", ".csv")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a file, print its name and return 0; the exit code is 2 for bad input."""
    parser = ArgumentParser(prog="python -m cohirf.datasets", description="Write synthetic data of any size.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    for name in datasets.__all__:
        if name.startswith("write_"):
            _add_kind(kinds.add_parser(name.removeprefix("write_"), description=_title(name)), name)
    given = vars(parser.parse_args(arguments))
    write, file = getattr(datasets, f"write_{given.pop('kind')}"), Path(given.pop("file"))
    if file.exists() or file.suffix not in SUFFIXES:
        parser.error(f"{file} exists, or does not end in {', '.join(SUFFIXES)}: give another name.")
    try:
        labels = write(file, given.pop("rows"), **given)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    sys.stdout.write(f"Written: {file}{'' if labels == file else f', {labels}'}\n")
    return 0


def _add_kind(parser: ArgumentParser, name: str) -> None:
    parser.add_argument("rows", type=_read_count, help="number of rows, such as 1000 or 1e6")
    parser.add_argument("file", help="the file to write: .npy, .parquet or .csv")
    parser.add_argument("--seed", dest="random_state", metavar="INT", type=int, default=0)
    for option in signature(getattr(datasets, name)).parameters.values():
        if isinstance(option.default, int | float):
            kind = type(option.default)
            parser.add_argument(
                f"--{option.name.replace('_', '-')}", type=kind, default=option.default, help="%(default)s"
            )


def _title(name: str) -> str:
    return (getdoc(getattr(datasets, name)) or "").partition("\n")[0]


def _read_count(text: str) -> int:
    return int(float(text))


if __name__ == "__main__":
    sys.exit(main())
