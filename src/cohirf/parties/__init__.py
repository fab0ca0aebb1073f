"""Parties: owners of different columns of the same rows cluster them together, and exchange labels
and ranks only.
"""

from cohirf.parties.coordinator import PartyResult, run
from cohirf.parties.folder import join, run_folder
from cohirf.parties.party import Party, PartyError

__all__ = ["Party", "PartyError", "PartyResult", "join", "run", "run_folder"]
