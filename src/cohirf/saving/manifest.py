"""The manifest of a saved model: how it is written, parsed and validated."""

from __future__ import annotations

import errno
import hashlib
import json
import reprlib
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any

import sklearn

from cohirf.algorithm.levels import KINDS, LevelRecord
from cohirf.durable.arrays import ArrayEntry, parse_entry
from cohirf.durable.errors import one_line, shown
from cohirf.durable.json_text import parse_json, require_count, require_keys, require_number, require_text
from cohirf.durable.reading import read_bytes
from cohirf.saving.errors import REMEDY, ModelFileError, reading
from cohirf.saving.layout import (
    ARRAYS,
    CONTAINERS,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MANIFEST_DIGEST,
    MAX_MANIFEST_BYTES,
    Scalars,
    axis_lengths,
    check_presence,
)
from cohirf.saving.origin import Origin
from cohirf.saving.summaries import SummaryEntry, parse_changes, parse_history, parse_summary
from cohirf.summary.history import Step
from cohirf.summary.numbers import Changes


@dataclass(frozen=True)
class FileEntry:
    """What the manifest says about a file that is not an array."""

    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """The content of ``manifest.json``, validated as far as possible without reading the arrays."""

    model: dict[str, Any]
    scalars: Scalars
    diagnostics: list[LevelRecord]
    arrays: dict[str, ArrayEntry]
    preparation: FileEntry | None
    summary: SummaryEntry | None
    changes: Changes | None
    history: tuple[Step, ...]
    origin: Origin | None = None

    @property
    def n_numbers(self) -> int:
        """Clusters have numbers below this one."""
        return self.scalars.n_clusters if self.summary is None else self.summary.next_number


def compose_manifest(
    description: dict[str, Any],
    scalars: Scalars,
    diagnostics: list[LevelRecord],
    entries: dict[str, ArrayEntry],
    preparation: bytes | None,
    updates: dict[str, Any],
    origin: Origin | None = None,
) -> tuple[bytes, Manifest]:
    """Return the text of a manifest, and what a reader finds in it."""
    content = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": _package_version(),
        "scikit_learn_version": sklearn.__version__,
        "model": description,
        "scalars": asdict(scalars),
        "diagnostics": [_describe_record(record) for record in diagnostics],
        "arrays": {name: entry.to_json() for name, entry in entries.items()},
    }
    content |= updates
    if preparation is not None:
        content["preparation"] = {"bytes": len(preparation), "sha256": hashlib.sha256(preparation).hexdigest()}
    if origin is not None:
        content["origin"] = origin.to_json()
    text = (json.dumps(content, indent=1, allow_nan=False) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"The parameters and the {len(diagnostics):,} levels of the model take {len(text):,} bytes of JSON, "
            f"but a manifest holds at most {MAX_MANIFEST_BYTES:,}: shorten diagnostics_ and n_iter_, or pickle it."
        )
    return text, parse_manifest(parse_json(text))


def digest_line(text: bytes) -> bytes:
    """Return the content of ``manifest.sha256``, as the program sha256sum writes it."""
    return f"{hashlib.sha256(text).hexdigest()}  {MANIFEST}\n".encode()


def read_manifest(directory: Path) -> Manifest:
    """Return the manifest, after its SHA-256 and its version have been checked."""
    if not directory.exists():
        raise FileNotFoundError(errno.ENOENT, "There is no saved model: check the path", str(directory))
    if not directory.is_dir():
        raise ModelFileError(f"{shown(directory)} is not a directory: give the directory of a saved model.")
    with reading(directory / MANIFEST):
        text = read_bytes(directory / MANIFEST, MAX_MANIFEST_BYTES)
    with reading(directory / MANIFEST_DIGEST):
        digest = read_bytes(directory / MANIFEST_DIGEST, MAX_MANIFEST_BYTES)
    if digest != digest_line(text):
        raise ModelFileError(
            f"{shown(directory / MANIFEST)} or {MANIFEST_DIGEST} is damaged: the SHA-256 differs. {REMEDY}"
        )
    with reading(directory / MANIFEST):
        content = parse_json(text)
        _check_version(directory / MANIFEST, content)
        return parse_manifest(content)


def parse_manifest(content: Any) -> Manifest:
    """Check types, allowed values and the consistency of all sizes."""
    keys = {"format", "format_version", "package_version", "scikit_learn_version"}
    keys |= {"model", "scalars", "diagnostics", "arrays", "summary", "changes", "history"}
    more = {name for name in ("preparation", "origin") if isinstance(content, dict) and name in content}
    content = require_keys(content, keys | more, "the manifest")
    scalars = _parse_scalars(content["scalars"])
    if not isinstance(content["diagnostics"], list) or len(content["diagnostics"]) != scalars.n_iter:
        raise ValueError(f"diagnostics must be a list of {scalars.n_iter} levels")
    arrays = _parse_arrays(content["arrays"])
    check_presence(set(arrays), scalars.container)
    axis_lengths(arrays, scalars)
    model = require_keys(content["model"], {"name", "parameters", "output"}, "model")
    if model["name"] != "CoHiRF" or not isinstance(model["parameters"], dict):
        raise ValueError(f"the model is {reprlib.repr(model['name'])}, not CoHiRF with its parameters")
    preparation = _parse_file(content["preparation"]) if "preparation" in more else None
    origin = Origin.from_json(content["origin"]) if "origin" in more else None
    diagnostics = [_parse_record(record) for record in content["diagnostics"]]
    summary = None if content["summary"] is None else parse_summary(content["summary"])
    changes, history = parse_changes(content["changes"]), parse_history(content["history"])
    return Manifest(model, scalars, diagnostics, arrays, preparation, summary, changes, history, origin)


def _package_version() -> str:
    try:
        return metadata.version("cohirf")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


def _describe_record(record: LevelRecord) -> dict[str, Any]:
    return {name: None if value != value else value for name, value in asdict(record).items()}  # NaN


def _check_version(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"it is not a manifest of the format {FORMAT}")
    version = content.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ModelFileError(
            f"{shown(path)} has format version {reprlib.repr(version)}, but this version of cohirf reads version "
            f"{FORMAT_VERSION}: upgrade cohirf to {one_line(content.get('package_version'))} or later."
        )
    if type(version) is int and 1 <= version < FORMAT_VERSION:
        raise ModelFileError(
            f"{shown(path)} has format version {version}, of an older cohirf; this one reads version "
            f"{FORMAT_VERSION}: fit the model again."
        )
    if version != FORMAT_VERSION:
        raise ValueError(f"format version {reprlib.repr(version)} does not exist")


def _parse_scalars(content: Any) -> Scalars:
    content = require_keys(content, {field.name for field in fields(Scalars)}, "scalars")
    names = ("n_features", "n_clusters", "n_iter", "tree_level")
    n_features, n_clusters, n_iter, tree_level = (require_count(content[name], name) for name in names)
    batch_size = None if content["batch_size"] is None else require_count(content["batch_size"], "batch_size")
    container = content["container"]
    if not isinstance(container, str) or container not in CONTAINERS:
        raise ValueError(f"container {reprlib.repr(container)} is not one of {', '.join(CONTAINERS)}")
    return Scalars(n_features, n_clusters, n_iter, tree_level, batch_size, container)


def _parse_arrays(content: Any) -> dict[str, ArrayEntry]:
    """Return the entries of all arrays, in the order in which they are read."""
    if not isinstance(content, dict):
        raise TypeError("arrays must be a JSON object")
    for name in content:
        if name not in ARRAYS:
            raise ValueError(f"{reprlib.repr(name)} is not the name of an array of a model")
    return {name: parse_entry(name, content[name], layout) for name, layout in ARRAYS.items() if name in content}


def _parse_file(content: Any) -> FileEntry:
    content = require_keys(content, {"bytes", "sha256"}, "preparation")
    sha256 = require_text(content["sha256"], "the sha256 of preparation")
    return FileEntry(require_count(content["bytes"], "bytes"), sha256)


def _parse_record(content: Any) -> LevelRecord:
    content = require_keys(content, {field.name for field in fields(LevelRecord)}, "a level of diagnostics")
    values: dict[str, Any] = {}
    for field in fields(LevelRecord):
        require = {"int": require_count, "str": require_text}.get(str(field.type), require_number)
        values[field.name] = require(content[field.name], field.name)
    if values["kind"] not in KINDS:
        raise ValueError(f"{reprlib.repr(values['kind'])} is not a kind of level")
    return LevelRecord(**values)
