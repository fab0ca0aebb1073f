"""Origin: how the data of a model was prepared, and by which command the model was made."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from cohirf.durable.json_text import require_keys, require_text


@dataclass(frozen=True)
class Origin:
    """Where a model comes from, as far as its parameters do not tell.

    Attributes
    ----------
    data : str
        The path of the data, as the user gave it.
    options : dict of str to object
        The arguments of :func:`cohirf.preparation.prepare`, besides the data.
    command : str
        The command that fitted the model.

    Examples
    --------
    >>> from cohirf.saving.origin import Origin
    >>> origin = Origin("plants.csv", {"scaling": "standard"}, "cohirf fit plants.csv")
    >>> Origin.from_json(origin.to_json()) == origin
    True
    """

    data: str
    options: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the origin as a dict that can be stored as JSON."""
        return asdict(self)

    @classmethod
    def from_json(cls, content: Any) -> Origin:
        """Return the origin that :meth:`to_json` described, after validation."""
        content = require_keys(content, {"data", "options", "command"}, "origin")
        options = content["options"]
        if not isinstance(options, dict) or not all(name.isidentifier() for name in options):
            raise ValueError("the options of origin must be a JSON object of names and values")
        return cls(require_text(content["data"], "data"), options, require_text(content["command"], "command"))
