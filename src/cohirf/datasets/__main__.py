"""Write synthetic data of any size: ``python -m cohirf.datasets blobs 2000 blobs.csv --n-clusters 4``."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from inspect import signature
from pathlib import Path

from cohirf.datasets.synthetic import KINDS, write_data


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a file, print its name and return 0; the exit code is 2 for bad input."""
    parser = ArgumentParser(prog="python -m cohirf.datasets", description="Write synthetic data of any size.")
    kinds = parser.add_subparsers(dest="kind", required=True)
    for kind in KINDS:
        command = kinds.add_parser(kind)
        command.add_argument("rows", type=lambda text: int(float(text)), help="number of rows, such as 1000 or 1e6")
        command.add_argument("file", help="the file to write: .npy, .parquet or .csv")
        command.add_argument("--seed", dest="random_state", metavar="INT", type=int, default=0)
        for option in signature(KINDS[kind]).parameters.values():  # each number that the data depends on
            if isinstance(option.default, int | float):
                flag, kind_of_value = f"--{option.name.replace('_', '-')}", type(option.default)
                command.add_argument(flag, type=kind_of_value, default=option.default, help="%(default)s")
    given = vars(parser.parse_args(arguments))
    kind, file = given.pop("kind"), Path(given.pop("file"))
    if file.exists():
        parser.error(f"{file} exists: give another name.")
    try:
        labels = write_data(kind, file, given.pop("rows"), **given)
    except (ValueError, OSError, ImportError) as error:
        parser.error(str(error))
    sys.stdout.write(f"Written: {file}{'' if labels == file else f', {labels}'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
