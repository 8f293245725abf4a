# The list of verbs. `make` alone prints it.
# Every verb sets up what it needs: a virtual environment in $(VENV), made by $(PYTHON).

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PY := $(BIN)/python
PIP := $(PY) -m pip --disable-pip-version-check
WORKERS ?= 2
PYTEST := $(PY) -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test test-long attack lint coverage bench docs dist clean

help:  ## print this list
	@echo "make VERB, where VERB is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.ready-run  ## compare our methods with the baselines on the embedded table; leaves report.html
	$(BIN)/auclid compare --output report.html

test: lint  ## lint, then every test and every docstring example
	$(PYTEST) -n $(WORKERS) --durations=20 --doctest-modules src/auclid tests

test-long: $(VENV)/.ready-dev  ## the statistical checks that take minutes; AUCLID_DATA names the folder of real tables
	@test -n "$$AUCLID_DATA" || echo "AUCLID_DATA is not set: checks on real tables will be skipped."
	$(PYTEST) -n $(WORKERS) --durations=20 -m long tests

attack: $(VENV)/.ready-dev  ## 20,000 hostile cases in half an hour, and 200 kills: what gets through is printed
	$(PY) tests/fuzz/attack.py
	$(PY) tests/fuzz/kills.py

lint: $(VENV)/.ready-dev  ## ruff everywhere, mypy on the package
	$(PY) -m ruff check .
	$(PY) -m mypy

coverage: $(VENV)/.ready-dev  ## lines reached with the kernels run as plain Python (no JIT)
	NUMBA_DISABLE_JIT=1 $(PY) -m coverage run -m pytest -m "not long and not jit" tests
	$(PY) -m coverage report

bench: $(VENV)/.ready-dev  ## every benchmarks/bench_*.py in turn, each printing its ratios
	@set -e; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; $(PY) $$script; \
	done

docs: $(VENV)/.ready-docs  ## run the gallery and build the documentation into site/; `make test` runs its code blocks
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict

dist: $(VENV)/.ready-dev  ## sdist and wheel into dist/, contents checked, the wheel tried in a clean environment
	rm -rf dist
	$(PY) -m build --outdir dist
	$(PY) tools/check_dist.py dist

clean:  ## remove caches and build products from the checkout; the environment stays
	rm -rf build dist site .pytest_cache .numba_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov
	find src tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment. A stamp is older than pyproject.toml when the dependencies may have changed.
# An environment without a working pip is a half-made one, and is made again.
define environment
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"auclid needs Python 3.11 or newer, but $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12 ...")'
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
endef

$(VENV)/.ready-run: pyproject.toml
	$(environment)
	$(PIP) install --quiet -e '.[cli,plot,io]'
	@touch $@

$(VENV)/.ready-docs: pyproject.toml
	$(environment)
	$(PIP) install --quiet -e '.[docs]'
	@touch $@ $(VENV)/.ready-run

$(VENV)/.ready-dev: pyproject.toml
	$(environment)
	$(PIP) install --quiet -e '.[dev]'
	@touch $@ $(VENV)/.ready-run
