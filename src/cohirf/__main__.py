"""``python -m cohirf`` is the program ``cohirf``."""

import sys

from cohirf.cli import main

if __name__ == "__main__":
    sys.exit(main())
