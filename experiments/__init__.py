"""The paper's tables and figures, one file each: ``python -m experiments NAME [--budget full]``."""
