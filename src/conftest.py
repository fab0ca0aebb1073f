"""Which doctests are collected: those of modules on torch only where it is installed."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("torch") else ["*/torch_*.py"]
