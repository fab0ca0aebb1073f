"""Which systems a test is for."""

import os
import sys

import pytest

posix_only = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="Windows has neither fork, pipes with names nor modes"
)
linux_only = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="only Linux has /proc and unnamed files"
)
