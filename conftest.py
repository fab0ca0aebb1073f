"""Options of pytest that act on tests, doctests and pages of the documentation alike."""

pytest_plugins = ["perturbation"]
