"""The port for rows: what the library asks of an array, and a file for each container.

``container_of(X)`` is the container of ``X``. A file of a container has all that is particular to
it: how rows are taken, joined and moved, their distances, and sums by label. To add a container,
write a subclass of ``Container`` in a file here, and name it in ``known_containers``. Rows of
sources and of Dask are read in blocks, each of which is in one of these containers.
"""

from cohirf.rows.containers.container import Container, container_of

__all__ = ["Container", "container_of"]
