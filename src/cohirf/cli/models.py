"""Open saved models together with the preparation of their data."""

from __future__ import annotations

from pathlib import Path

from cohirf.cli.errors import BadInputError
from cohirf.estimator import CoHiRF
from cohirf.preparation import Preparation
from cohirf.sources.files import one_line, shown
from cohirf.store import is_model, load_model, load_preparation
from cohirf.store.errors import CONTENT_ERRORS

REMEDY = "give the file that cohirf fit --model wrote"


def open_model(path: Path) -> tuple[CoHiRF, Preparation]:
    """Load a model and its preparation; a model that was saved from Python has none, and takes columns unchanged."""
    if not path.exists():
        raise BadInputError(f"{shown(path.absolute())} does not exist: {REMEDY}.")
    if not is_model(path):
        raise BadInputError(f"{shown(path.absolute())} is not a saved model: {REMEDY}.")
    model = load_model(path)
    content = load_preparation(path)
    if content is None:
        return model, _without_changes(model)
    try:
        preparation = Preparation.from_json(content, model.n_features_in_)
    except CONTENT_ERRORS as error:
        raise BadInputError(
            f"{shown(path.absolute())}: its preparation cannot be used: {one_line(error)}. Fit and save it again."
        ) from error
    return model, preparation


def _without_changes(model: CoHiRF) -> Preparation:
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return Preparation.of_numbers(list(names))
