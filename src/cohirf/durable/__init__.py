"""Durable files, temporary files, and readers that validate everything they read.

Saved models, checkpoints and all other output files are built on this layer: atomic replacement of files and
directories, temporary files that do not outlive the process, locks, numeric arrays with a declared layout, and JSON
that is validated before it is used.
"""
