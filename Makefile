# Everything a newcomer needs: `make demo` and `make test`. Each command first makes .venv, which takes Python 3.11
# and a package index, and nothing else. `make demo` installs the program alone; the others add development tools.

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
JOBS ?= 2
# Tests start many processes, and each would compile the package again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo environments test test-all test-gpu test-lowest mutants check constraints docs bench evidence figures experiments format clean

# Python compiles what is imported; compiling all that is installed takes a minute.
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile

.venv/program: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt --editable ".[cli,fast]"
	@touch $@

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(INSTALL) --constraint constraints.txt --editable ".[dev]"
	@touch .venv/program $@

.venv-lowest/installed: pyproject.toml
	$(PYTHON) -m venv .venv-lowest
	.venv-lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	.venv-lowest/bin/uv pip install --quiet --python .venv-lowest/bin/python --resolution lowest-direct --editable ".[test]"
	@touch $@

demo: .venv/program  ## measure methods alone and with CoHiRF, and cluster a messy table: a table and a report
	$(BIN)/python -m tools.demo

# In environments of its own: neither needs .venv nor uses it.
environments:  ## install without extras, with [cli] and with [cli,fast], and use each as README says
	$(PYTHON) -m tools.environments

# Workers take one file after the other, in the order of tests/conftest.py: long files first.
PYTEST := python -m pytest --numprocesses $(JOBS) --dist loadfile --no-loadscope-reorder

test: .venv/installed  ## run the tests, except those marked slow
	$(BIN)/$(PYTEST) -m "not slow" $(ARGS)

# The second run has noise in the last digits of what fits compute with: other processors round differently.
test-all: .venv/installed  ## run all tests, and measure how much of the package they run; then the fast ones, perturbed
	$(BIN)/$(PYTEST) --cov --cov-report=term $(ARGS)
	$(BIN)/$(PYTEST) -m "not slow" --perturb 1 $(ARGS)

# Into .venv, so that the tests of everything else run beside torch from then on, too.
.venv/torch: .venv/installed
	$(INSTALL) --constraint constraints.txt --editable ".[torch]"
	@touch $@

test-gpu: .venv/torch  ## run the tests that need torch, on the CPU and on a GPU if there is one
	$(BIN)/python -m pytest tests/data/test_on_device.py tests/rows/test_arrays.py \
		tests/rows/test_device_blocks.py tests/rows/test_grouping_on_device.py tests/rows/test_left_out.py \
		tests/rows/test_distances.py tests/beyond/test_rare_groups.py tests/rows/test_scatter.py \
		tests/engines/test_streaming.py tests/fitting/test_quick_k_means.py \
		tests/planning/test_device_plan.py tests/app/cli/test_cli_device.py tests/clusterers/test_torch_*.py src/cohirf/clusterers/torch_*.py $(ARGS)

# Warnings are not errors here: old packages warn about each other.
test-lowest: .venv-lowest/installed  ## run the tests with the lowest versions that pyproject.toml allows
	.venv-lowest/bin/$(PYTEST) -W default -m "not slow" $(ARGS)

mutants: .venv/installed  ## change one expression at a time and count the changes that no test notices
	$(INSTALL) --constraint constraints.txt --editable ".[mutation]"
	OMP_NUM_THREADS=1 PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 $(BIN)/mutmut run --max-children $(JOBS) $(ARGS)
	$(BIN)/python tests/mutation_score.py

check: .venv/installed  ## lint, format, types, import layers, pinned versions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tools/constraints.py --check

constraints:  ## install the newest version of everything into .venv, and pin these versions
	$(PYTHON) -m venv --clear .venv
	$(INSTALL) --editable ".[dev]"
	$(BIN)/python tools/constraints.py

docs: .venv/installed  ## build the documentation, with warnings as errors
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html

bench: .venv/installed  ## measure the cost beyond the base method, and the kernels
	$(BIN)/python -m benchmarks.speed.core

evidence: .venv/installed  ## measure cluster quality on real data: iris, and the default of max_features
	$(BIN)/python -m benchmarks.quality.max_features

.venv/peers: .venv/installed
	$(INSTALL) --constraint constraints.txt --editable ".[dev,peers]"
	@touch $@

figures: .venv/peers  ## measure what pages show, hours of it, and write it there; ARGS="--only digits" for one file
	$(BIN)/python -m benchmarks.figures $(ARGS)

experiments: .venv/installed  ## run the paper's experiments at a small budget; results go to experiments/results/small
	$(BIN)/python -m experiments all --n-jobs $(JOBS)

format: .venv/installed  ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove what the commands above have made
	rm -rf .venv .venv-lowest mutants docs/_build docs/reference/generated docs/gallery docs/data build dist .coverage* .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
