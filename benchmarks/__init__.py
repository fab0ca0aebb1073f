"""Measurements behind the figures in the documentation; README.md lists the scripts."""
