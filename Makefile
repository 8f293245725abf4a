# The list of verbs. `make` alone prints it.
# Every verb sets up what it needs: a virtual environment in $(VENV), made by $(PYTHON), with the versions that were
# tested on that Python (constraints/). Three verbs have environments of their own: $(VENV)-torch, $(VENV)-newest and
# $(VENV)-floors.

PYTHON ?= python3
VENV ?= .venv
NEWEST := $(VENV)-newest
FLOORS := $(VENV)-floors
TORCH := $(VENV)-torch
SCRIPTS := $(if $(filter Windows_NT,$(OS)),Scripts,bin)
BIN := $(VENV)/$(SCRIPTS)
PY := $(BIN)/python
PIP := -m pip --disable-pip-version-check install --quiet
WORKERS ?= 2
# `make test` does without PyTorch and what is tried with it: 1.4 GB more to install, see CONTRIBUTING.md. An index that has
# builds for GPUs as well gives those, unless the index of the CPU builds is named too: make test-torch PIP_EXTRA_INDEX_URL=...
PYTORCH ?= torch==2.13.0
TRAINERS ?= lightning==2.6.6 skorch==1.4.0 transformers==5.23.0 accelerate==1.15.0
BOOSTERS ?= xgboost-cpu==3.2.0 catboost==1.2.10
SUITE := pytest -n $(WORKERS) --durations=20 --doctest-modules src/auclid papers/src tests papers/tests

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-torch test-newest test-floors attack lint coverage bench docs dist constraints clean

help:  ## print this list
	@echo "make VERB, where VERB is one of"
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-11s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/.ready-run  ## compare our methods with the baselines on the embedded table; leaves report.html
	$(BIN)/auclid compare --output report.html

test: $(VENV)/.ready-dev  ## every test and every docstring example
	$(PY) -m $(SUITE)

test-long: $(VENV)/.ready-dev  ## the statistical checks that take minutes; AUCLID_DATA names the folder of real tables
	@test -n "$$AUCLID_DATA" || echo "AUCLID_DATA is not set: checks on real tables will be skipped."
	$(PY) -m pytest -n $(WORKERS) --durations=20 -m long tests papers/tests

test-torch: $(TORCH)/.ready  ## what needs PyTorch, its trainers or other boosters, in an environment of its own
	$(TORCH)/$(SCRIPTS)/python -m pytest -n $(WORKERS) --durations=10 --doctest-modules -k "torch or deep or objectives" \
		src/auclid/torch tests/test_torch*.py tests/test_objectives.py tests/test_docs.py

test-newest:  ## lint and test with the newest of everything, in an environment of its own
	$(new-enough)
	$(PYTHON) -m venv --clear $(NEWEST)
	$(call with-pins,) $(NEWEST)/$(SCRIPTS)/python $(PIP) -e '.[dev,docs]' -e ./papers hatchling editables
	@failed=; for check in 'ruff check .' 'mypy' '$(SUITE)'; do \
		echo "$$check"; $(NEWEST)/$(SCRIPTS)/python -m $$check || failed="$$failed $${check%% *}"; \
	done; test -z "$$failed" || { echo "With the newest of everything these fail:$$failed"; exit 1; }
	@touch $(NEWEST)/.passed

test-floors:  ## test with the oldest of everything that pyproject.toml admits, in an environment of its own
	$(new-enough)
	$(PYTHON) -m venv --clear $(FLOORS)
	$(PYTHON) tools/pins.py floors > $(FLOORS)/floors.txt
	$(call with-pins,$(FLOORS)/floors.txt) $(FLOORS)/$(SCRIPTS)/python $(PIP) -e '.[dev]' -e ./papers
	$(FLOORS)/$(SCRIPTS)/python -m $(SUITE)

attack: $(VENV)/.ready-dev  ## 20,000 hostile cases in at most ten minutes, and 200 kills: what gets through is printed
	$(PY) tests/fuzz/attack.py
	$(PY) tests/fuzz/kills.py

lint: $(VENV)/.ready-dev  ## ruff everywhere, mypy on both packages
	$(PY) -m ruff check .
	$(PY) -m mypy

coverage: $(VENV)/.ready-dev  ## lines reached with the kernels run as plain Python (no JIT)
	NUMBA_DISABLE_JIT=1 $(PY) -m coverage run -m pytest -m "not long and not jit" tests papers/tests
	$(PY) -m coverage report

bench: $(VENV)/.ready-dev  ## every benchmarks/bench_*.py in turn, each printing its ratios, and what it took
	@failed=; for script in $(sort $(wildcard benchmarks/bench_*.py)); do \
		echo "== $$script"; start=$$(date +%s); $(PY) $$script || failed="$$failed $$script"; \
		echo "== $$(($$(date +%s) - start)) s"; \
	done; test -z "$$failed" || { echo "These failed:$$failed"; exit 1; }

docs: $(VENV)/.ready-docs  ## run the gallery, build the site into site/, check links, spelling and pages in a browser
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict
	$(PY) tools/check_site.py site

dist: $(VENV)/.ready-dev  ## reproducible sdists and wheels into dist/, contents checked, tutorials run on the wheel
	rm -rf dist
	@$(pinned) $(PY) tools/make_dist.py dist
	@$(pinned) $(PY) tools/check_dist.py dist

constraints: $(NEWEST)/.passed  ## the versions with which `make test-newest` passed become the tested ones of this Python
	$(NEWEST)/$(SCRIPTS)/python tools/pins.py write

$(NEWEST)/.passed:
	$(MAKE) test-newest

clean:  ## remove caches and build products from the checkout; the environment stays
	rm -rf build dist site papers/dist .pytest_cache .numba_cache .mypy_cache .ruff_cache .hypothesis .coverage .coverage.* htmlcov
	find src papers tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# The environment. A stamp is older than pyproject.toml or the tested versions when the dependencies may have changed.
# An environment without a working pip is a half-made one, and is made again.
define new-enough
	@$(PYTHON) -c 'import sys; v = sys.version_info; v >= (3, 11) or sys.exit(f"auclid needs Python 3.11 or newer, but $(PYTHON) is {v[0]}.{v[1]}. Name another: make PYTHON=python3.12 ...")'
endef

define environment
	$(new-enough)
	@$(PY) -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
endef

# What pip is told through variables holds for the tools that build the package, too, and for pips started by others.
with-pins = PIP_CONSTRAINT="$(1)" PIP_BUILD_CONSTRAINT="$(1)"
pinned = pins=$$($(PY) tools/pins.py tested) && $(call with-pins,$$pins)
DEPENDENCIES := pyproject.toml papers/pyproject.toml $(wildcard constraints/*.txt)

$(TORCH)/.ready: $(DEPENDENCIES)
	$(new-enough)
	$(PYTHON) -m venv --clear $(TORCH)
	@pins=$$($(PYTHON) tools/pins.py tested) && $(call with-pins,$$pins) $(TORCH)/$(SCRIPTS)/python $(PIP) -e '.[dev,torch]' $(PYTORCH) $(TRAINERS) $(BOOSTERS)
	@touch $@

$(VENV)/.ready-run: $(DEPENDENCIES)
	$(environment)
	@$(pinned) $(PY) $(PIP) -e '.[cli,plot,io]'
	@touch $@

$(VENV)/.ready-docs: $(DEPENDENCIES)
	$(environment)
	@$(pinned) $(PY) $(PIP) -e '.[docs]'
	@touch $@ $(VENV)/.ready-run

$(VENV)/.ready-dev: $(DEPENDENCIES)
	$(environment)
	@$(pinned) $(PY) $(PIP) -e '.[dev]' -e ./papers
	@touch $@ $(VENV)/.ready-run
