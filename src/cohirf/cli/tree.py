"""cohirf tree: the hierarchy of a model in the formats of others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import numpy as np

from cohirf.cli import spec
from cohirf.cli.models import open_model
from cohirf.cli.spec import Option, read_count, refuse_unknown
from cohirf.cli.writing import check_file
from cohirf.durable.temporary import replacing
from cohirf.hierarchy import FusionHierarchy
from cohirf.optional import import_optional

FORMATS = ("newick", "json", "linkage", "graphml")


def tree(
    model: spec.ModelPath,
    format: Annotated[  # noqa: A002 - the option is called so
        str,
        Option(
            ("--format",),
            "newick and graphml for programs that draw, linkage for SciPy (as CSV, or .npy), json for FusionHierarchy.",
            metavar="NAME",
            choices=FORMATS,
            default="newick",
        ),
    ] = "newick",
    top: Annotated[
        str | None, Option(("--top",), "Only the top of the tree, with at most so many leaves.", metavar="INT")
    ] = None,
    out: Annotated[
        Path | None, Option(("--out",), "The file to write.", spec.OUTPUT, "FILE", default="the screen")
    ] = None,
    force: spec.Force = False,
) -> None:
    """Print the hierarchy of a model, or write it to a file."""
    refuse_unknown("--format", format, FORMATS)
    check_file(out, "--out", (), force=force)
    hierarchy = open_model(model)[0].hierarchy_
    if top is not None:
        hierarchy = hierarchy.condense(max_clusters=read_count("--top", top))
    if out is None:
        sys.stdout.write(_to_text(hierarchy, format))
        return
    with replacing(out) as file:
        if format == "linkage" and out.suffix.lower() == ".npy":
            np.save(file, hierarchy.to_linkage())
        else:
            file.write(_to_text(hierarchy, format).encode())


def _to_text(hierarchy: FusionHierarchy, format: str) -> str:  # noqa: A002
    if format == "newick":
        return f"{hierarchy.to_newick()}\n"
    if format == "json":
        return f"{hierarchy.to_json()}\n"
    if format == "graphml":
        networkx = import_optional("networkx", "networkx")
        return "\n".join([*networkx.generate_graphml(hierarchy.to_networkx()), ""])
    lines = (",".join(f"{value:.0f}" for value in step) for step in hierarchy.to_linkage())
    return "\n".join(["left,right,level,rows", *lines, ""])
