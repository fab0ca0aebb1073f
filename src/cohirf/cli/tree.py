"""cohirf tree: export the hierarchy of a model."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from cohirf.cli.app import TREE_FORMATS
from cohirf.cli.models import open_model
from cohirf.cli.values import read_count, refuse_unknown
from cohirf.cli.writing import check_file
from cohirf.durable.temporary import replacing
from cohirf.hierarchy import FusionHierarchy
from cohirf.optional import import_optional


def tree(
    model: Path,
    format: str,  # noqa: A002 - the option is called so
    top: str | None,
    out: Path | None,
    *,
    force: bool,
) -> None:
    """Print the hierarchy of a model, or write it to a file."""
    refuse_unknown("--format", format, TREE_FORMATS)
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


def _to_text(hierarchy: FusionHierarchy, format: str) -> str:  # noqa: A002 - the option is called so
    if format == "newick":
        return f"{hierarchy.to_newick()}\n"
    if format == "json":
        return f"{hierarchy.to_json()}\n"
    if format == "graphml":
        networkx = import_optional("networkx", "networkx", "--format graphml")
        return "\n".join([*networkx.generate_graphml(hierarchy.to_networkx()), ""])
    lines = (",".join(f"{value:.17g}" for value in step) for step in hierarchy.to_linkage())
    return "\n".join(["left,right,height,rows", *lines, ""])
