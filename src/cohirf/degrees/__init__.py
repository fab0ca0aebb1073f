"""How much a row belongs to each cluster, and how far it is from all of them."""

from cohirf.degrees.degrees import Degrees, degrees_of

__all__ = ["Degrees", "degrees_of"]
