"""The files that a fit leaves: labels, model and report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from numpy.typing import NDArray

from cohirf.cli import spec
from cohirf.cli.data import Classes, PreparedData
from cohirf.cli.errors import BadInputError
from cohirf.cli.invocation import command_line
from cohirf.cli.spec import Option
from cohirf.cli.writing import TABLES, check_file, check_ids, check_model, write_labels
from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional
from cohirf.saving import save_model
from cohirf.sources.files import shown

REPORT_PACKAGES = ("jinja2", "plotly")

ModelFolder = Annotated[
    Path | None, Option(("--model",), "Where to save the model: a new folder.", spec.OUTPUT, "FOLDER")
]


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
            for package in REPORT_PACKAGES:
                import_optional(package, "report")

    def write(self, model: CoHiRF, data: PreparedData, classes: Classes | None) -> dict[str, str]:
        """Write the files, each as a whole, and return their paths."""
        written = self.write_labels(model.labels_, data)
        if self.model is not None:
            save_model(model, self.model, overwrite=self.force, preparation=data.preparation.to_json())
            written["model"] = str(self.model)
        if self.report is not None:
            from cohirf.report import write_report  # it takes a moment to import

            y = None if classes is None else classes.by_name()
            name = data.file.path.name
            write_report(model, data.source, self.report, y=y, data_name=name, command=command_line())
            written["report"] = str(self.report)
        return written

    def write_labels(self, labels: NDArray[Any], data: PreparedData) -> dict[str, str]:
        """Write the cluster of each row, if asked, and return the path."""
        if self.labels is None:
            return {}
        write_labels(self.labels, labels, data.ids(), data.preparation.id_column)
        return {"labels": str(self.labels)}


def say_written(written: dict[str, str], nothing: str) -> str:
    """Return the line that names the files; without any, ``nothing`` says what could be asked for."""
    if not written:
        return f"Nothing was written: {nothing}"
    return "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items())
