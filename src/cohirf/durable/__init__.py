"""Files that survive a crash, files that do not outlive it, and readers that believe nothing they read.

Saved models, checkpoints and everything else that is written to disk are built on this layer: files and directories
that are replaced in one step, temporary files, locks, numeric arrays with a declared layout, and JSON that is checked
before it is used.
"""
