"""Data sets: synthetic points, a table of customers, and the real data of the paper's experiments."""

from cohirf.datasets.customers import make_customers
from cohirf.datasets.real import load_real
from cohirf.datasets.synthetic import labels_file, make_hypercube, make_shapes, make_spheres, write_data

__all__ = ["labels_file", "load_real", "make_customers", "make_hypercube", "make_shapes", "make_spheres", "write_data"]
