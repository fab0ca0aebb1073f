"""``python -m cohirf`` is the program ``cohirf``."""

import sys

from cohirf.app.cli import main

if __name__ == "__main__":
    sys.exit(main())
