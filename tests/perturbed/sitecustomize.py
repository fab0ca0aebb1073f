"""Python imports a file of this name when it starts: so noise reaches processes that perturbed
tests start.
"""

import os

from last_digits import SEED, install

if SEED in os.environ:
    install()
