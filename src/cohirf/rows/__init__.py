"""Rows wherever they are, and what every other package needs to work with them: arrays, groups,
distances, storage.
"""
