# Everything a newcomer needs: `make demo` and `make test`. Each command first makes .venv, which takes Python 3.11
# and a package index, and nothing else.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
JOBS ?= 2
# Tests start many processes, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-all check docs bench evidence experiments format clean

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[dev]"
	@touch $@

demo: .venv/installed  ## cluster real and synthetic data, print a table, write a report with the hierarchy
	$(BIN)/cohirf demo

test: .venv/installed  ## run the tests, except those marked slow
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup -m "not slow" $(ARGS)

test-all:  ## run all tests, with coverage and more examples for each property
	$(MAKE) test ARGS='-m "" --hypothesis-profile all --cov --cov-report=term $(ARGS)'

check: .venv/installed  ## lint, format, types, import layers
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

docs: .venv/installed  ## build the documentation, with warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: .venv/installed  ## measure the cost beyond the base method, and the kernels
	$(BIN)/python benchmarks/core.py

evidence: .venv/installed  ## measure cluster quality on real data: iris, and the default of max_features
	$(BIN)/python benchmarks/quality.py

experiments: .venv/installed  ## run the paper's experiments at a small budget; results go to experiments/results/small
	$(BIN)/python -m experiments all --n-jobs $(JOBS)

format: .venv/installed  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the commands above have made
	rm -rf .venv docs/_build docs/api/generated docs/gallery build dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
