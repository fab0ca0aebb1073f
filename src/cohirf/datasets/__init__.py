"""Data sets: synthetic points, and a table of customers."""

from cohirf.datasets.customers import make_customers
from cohirf.datasets.synthetic import labels_file, make_hypercube, make_shapes, make_spheres, write_data

__all__ = ["labels_file", "make_customers", "make_hypercube", "make_shapes", "make_spheres", "write_data"]
