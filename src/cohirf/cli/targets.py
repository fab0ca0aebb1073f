"""The output files of a fit: labels, model and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.cli.formulas import say_formulas
from cohirf.cli.options import TargetOptions
from cohirf.cli.writing import CLUSTER, TABLES, check_file, check_ids, check_model, write_labels
from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional
from cohirf.preparation import Classes, Prepared
from cohirf.sources.files import shown
from cohirf.store import Origin, save_model

REPORT_PACKAGES = ("jinja2",)


@dataclass(frozen=True)
class Targets:
    """The output files of a fit."""

    labels: Path | None
    model: Path | None
    report: Path | None
    force: bool
    escape_formulas: bool
    console: Console

    @classmethod
    def of(cls, options: TargetOptions, report: Path | None, console: Console) -> Targets:
        """Return the output files that the options name."""
        return cls(options.out, options.model, report, options.force, options.escape_formulas, console)

    def check(self, data: Path, id_column: str | None, checkpoint: Any = None) -> None:
        """Refuse files that cannot be written, before the work begins."""
        check_file(self.labels, "--out", TABLES, force=self.force, data=data)
        check_model(self.model, "--model", force=self.force, data=data)
        check_file(self.report, "--report", (".html", ".htm"), force=self.force, data=data)
        check_ids(self.labels, id_column)
        if self.model is not None and checkpoint is not None and self.model.resolve() == Path(checkpoint).resolve():
            raise BadInputError(f"--model {shown(self.model.absolute())} is also the checkpoint: give another path.")
        if self.report is not None:
            for package in REPORT_PACKAGES:
                import_optional(package, "report", "--report")

    def write(self, model: CoHiRF, data: Prepared, classes: Classes | None, origin: Origin) -> dict[str, str]:
        """Write the files, each atomically, and return their paths."""
        written = self.write_labels(model.labels_, data)
        if self.model is not None:
            preparation = data.preparation.to_json()
            save_model(model, self.model, overwrite=self.force, preparation=preparation, origin=origin)
            written["model"] = str(self.model)
        if self.report is not None:
            from cohirf.report import write_report  # slow to import

            y = None if classes is None else classes.by_name()
            name = Path(data.data.origin).name
            write_report(model, data, self.report, y=y, data_name=name, origin=origin)
            written["report"] = str(self.report)
        return written

    def write_labels(self, labels: NDArray[Any], data: Prepared) -> dict[str, str]:
        """Write the cluster of each row, if the user asked for it, and return the path."""
        if self.labels is None:
            return {}
        column = data.preparation.id_column
        if self.labels.suffix.lower() == ".npy" or column == CLUSTER:
            column = None  # it was found, not given: the user would have been told that it cannot be written
        ids = None if column is None else data.ids()
        save_labels(self.labels, labels, ids, column, self.console, escape=self.escape_formulas)
        return {"labels": str(self.labels)}


def save_labels(path: Path, labels: Any, ids: Any, id_name: Any, console: Console, *, escape: bool) -> None:
    """Write the cluster of each row, and warn of names that a spreadsheet would run."""
    if n_formulas := write_labels(path, labels, ids, id_name, escape=escape):
        console.warn(say_formulas(path, n_formulas))


def say_written(written: dict[str, str], nothing: str) -> str:
    """Return the line that lists the written files; without files, ``nothing`` says which options write some."""
    if not written:
        return f"Nothing was written: {nothing}"
    return "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items())
