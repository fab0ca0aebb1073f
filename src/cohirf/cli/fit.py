"""cohirf fit: cluster a file."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from sklearn.cluster import KMeans

from cohirf.cli import spec
from cohirf.cli.console import Console
from cohirf.cli.data import Classes, DataFile, PreparedData, prepare
from cohirf.cli.errors import BadInputError, Interrupted
from cohirf.cli.estimator_options import (
    BaseParameters,
    Estimator,
    flag_of,
    read_base_method,
    read_parameters,
    settle_parameters,
)
from cohirf.cli.invocation import command_line
from cohirf.cli.preparation import IMPUTES, SCALES
from cohirf.cli.spec import Option, refuse_unknown
from cohirf.cli.summary import agreement, describe_model, level_grid, model_grid
from cohirf.cli.tables import CsvFormat
from cohirf.cli.writing import TABLES, check_file, check_ids, check_model, write_labels
from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional
from cohirf.planning.memory import peak_bytes
from cohirf.saving import save_model
from cohirf.sources.files import shown
from cohirf.validation import set_columns

ONE_HOT = ("onehot",)
AUTO_SCALES = ("auto", *SCALES)
CHECKED_PACKAGES = ("jinja2", "plotly")


def fit(
    data: spec.DataPath,
    label_column: spec.LabelColumn = None,
    id_column: spec.IdColumn = None,
    drop: Annotated[
        list[str] | None, Option(("--drop",), "A column to leave out. May be repeated.", spec.DATA, "NAME")
    ] = None,
    scale: Annotated[
        str,
        Option(
            ("--scale",),
            "standard: mean 0 and standard deviation 1; minmax: from 0 to 1; none; auto: standard without --estimator "
            "and none with it, because parameters such as eps are about the data as it is.",
            spec.DATA,
            "NAME",
            AUTO_SCALES,
            "auto",
        ),
    ] = "auto",
    categorical: Annotated[
        str | None,
        Option(
            ("--categorical",),
            "onehot: code columns of text as zeros and ones, a column for each category.",
            spec.DATA,
            "NAME",
            ONE_HOT,
            "refuse them",
        ),
    ] = None,
    impute: Annotated[
        str | None,
        Option(
            ("--impute",),
            "median or mean: fill missing cells with that of their column; in columns of text, with the most frequent.",
            spec.DATA,
            "NAME",
            IMPUTES,
            "refuse them",
        ),
    ] = None,
    delimiter: spec.Delimiter = None,
    header: spec.Header = None,
    estimator: Estimator = None,
    param: BaseParameters = None,
    out: spec.Out = None,
    model: Annotated[
        Path | None, Option(("--model",), "Where to save the model: a new folder.", spec.OUTPUT, "FOLDER")
    ] = None,
    report: Annotated[
        Path | None, Option(("--report",), "Where to write the report: .html.", spec.OUTPUT, "FILE")
    ] = None,
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
    **options: Any,
) -> None:
    """Cluster the rows of a file."""
    console = Console(json, quiet)
    refuse_unknown("--scale", scale, AUTO_SCALES)
    refuse_unknown("--categorical", categorical, ONE_HOT)
    refuse_unknown("--impute", impute, IMPUTES)
    base = read_base_method(estimator, param)
    parameters = read_parameters(options)
    targets = Targets(out, model, report, force)
    targets.check(data, id_column, parameters.get("checkpoint"))
    scaling = scale if scale != "auto" else ("standard" if estimator is None else "none")
    prepared = prepare(
        DataFile.open(data, CsvFormat(delimiter, header)),
        label_column=label_column,
        id_column=id_column,
        drop=drop or [],
        categorical=categorical,
        impute=impute,
        scaling=scaling,
    )
    settled = settle_parameters(parameters, prepared.source.n_rows)
    console.note(f"{prepared.file.name}: {prepared.source.n_rows:,} rows, {prepared.source.n_features:,} features")
    chosen = {} if estimator is not None else {"--estimator": "kmeans"}
    chosen |= {} if base is not None else {"--param": f"n_clusters={KMeans().n_clusters}"}
    chosen |= {} if scale != "auto" else {"--scale": scaling}
    chosen |= {flag_of(name): value for name, value in settled.items() if name not in parameters}
    console.note(f"chosen: {' '.join(f'{flag} {value}' for flag, value in chosen.items())}")
    classes = prepared.classes()  # now: what is wrong with them should not cost a fit
    started = time.perf_counter()
    fitted = _fit(CoHiRF(base, **settled), prepared, console)
    seconds = time.perf_counter() - started
    document = {"command": "fit", "data": str(data), **describe_model(fitted)}
    document |= agreement(fitted.labels_, classes)
    document |= {"seconds": seconds, "peak_bytes": _peak_bytes(), "warnings": console.warned}
    document["written"] = targets.write(fitted, prepared, classes, data)
    console.show(document, model_grid(document), level_grid(document), _say_written(document["written"]))


def _fit(model: CoHiRF, data: PreparedData, console: Console) -> CoHiRF:
    """Fit the model, and say what is left of a fit that is stopped."""
    try:
        with console.watching():
            model.set_params(verbose=0 if console.quiet else 1).fit(data.rows())
    except KeyboardInterrupt:
        raise Interrupted(_say_stopped(model)) from None
    model.set_params(verbose=0)
    set_columns(model, data.source.n_features, data.source.feature_names)
    return model


@dataclass(frozen=True)
class Targets:
    """The files that a fit leaves."""

    labels: Path | None
    model: Path | None
    report: Path | None
    force: bool

    def check(self, data: Path, id_column: str | None, checkpoint: Any = None) -> None:
        """Refuse what could not be written, before the work begins."""
        check_file(self.labels, "--out", TABLES, force=self.force, data=data)
        check_model(self.model, "--model", force=self.force, data=data)
        check_file(self.report, "--report", (".html", ".htm"), force=self.force, data=data)
        check_ids(self.labels, id_column)
        if self.model is not None and checkpoint is not None and self.model.resolve() == Path(checkpoint).resolve():
            raise BadInputError(f"--model {shown(self.model.absolute())} is the checkpoint, too: give another folder.")
        if self.report is not None:
            for package in CHECKED_PACKAGES:
                import_optional(package, "report")

    def write(self, model: CoHiRF, data: PreparedData, classes: Classes | None, path: Path) -> dict[str, str]:
        """Write the files, each as a whole, and return their paths."""
        preparation = data.preparation
        if self.labels is not None:
            write_labels(self.labels, model.labels_, data.ids(), preparation.id_column)
        if self.model is not None:
            save_model(model, self.model, overwrite=self.force, preparation=preparation.to_json())
        if self.report is not None:
            from cohirf.report import write_report  # it takes a moment to import

            y = None if classes is None else classes.by_name()
            write_report(model, data.source, self.report, y=y, data_name=path.name, command=command_line())
        written = {"labels": self.labels, "model": self.model, "report": self.report}
        return {name: str(target) for name, target in written.items() if target is not None}


def _peak_bytes() -> int | None:
    with suppress(NotImplementedError):  # not every system tells
        return peak_bytes()
    return None


def _say_stopped(model: CoHiRF) -> str:
    if model.checkpoint is None:
        return "Stopped. Nothing was written: with --checkpoint FOLDER, a fit that is stopped can go on."
    return (
        f"Stopped. {shown(Path(model.checkpoint).absolute())} keeps what is done. To go on, run the same command: "
        f"{command_line()}"
    )


def _say_written(written: dict[str, str]) -> str:
    if not written:
        return (
            "Nothing was written: give --out labels.csv to keep the clusters, --model model/ to predict and cut later, "
            "--report report.html to look at them."
        )
    return "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items())
