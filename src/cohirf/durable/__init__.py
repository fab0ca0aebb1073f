"""Files that survive a crash, and readers that believe nothing they read.

Saved models and checkpoints are built on this layer: files and directories that are replaced in one step, locks,
numeric arrays with a declared layout, and JSON that is checked before it is used.
"""

from cohirf.durable.files import replace_file, replacing, sync_directory, sync_file, write_all, write_new_file

__all__ = ["replace_file", "replacing", "sync_directory", "sync_file", "write_all", "write_new_file"]
