# Every target sets up what it needs: a virtual environment in .venv with the pinned versions of constraints.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/pip --disable-pip-version-check install --quiet -c constraints.txt
PYTEST := $(BIN)/python -m pytest -n 2

OLDEST := .venv-oldest
LIBRARY_TESTS := tests/criterion tests/stats tests/terms tests/theory tests/test_losses.py tests/test_deep_supervision.py \
	tests/test_tiles.py tests/test_distributed.py tests/test_edge_cases.py tests/test_edge_labels.py \
	tests/test_input_errors.py tests/test_option_errors.py tests/test_loss_formula.py \
	tests/decisions/test_decide.py tests/decisions/test_fit_decision.py tests/decisions/test_size_matched.py

RELEASE := .venv-release

.PHONY: demo test test-all test-gpu test-oldest lint bench docs release clean

demo: $(VENV)/installed  ## compare four losses over three seeds on built-in data
	$(BIN)/sizewise compare --data synthetic --losses CE,DiceCE,JaccardCE,RCE --seeds 3 --jobs 2 --out demo

test: $(VENV)/installed-dev lint  ## what has to pass before a change lands
	$(PYTEST)

test-all: $(VENV)/installed-dev  ## every combination of options and dtypes
	SIZEWISE_EXHAUSTIVE=1 $(PYTEST)

test-gpu:  ## kernels and training on this machine's GPU, with whatever PyTorch build $(PYTHON) has
	PYTHONPATH=src:tests $(PYTHON) tests/gpu_check.py
	@if $(PYTHON) -c "import sys; from importlib.util import find_spec; sys.exit(find_spec('nnunetv2') is None)"; \
	then PYTHONPATH=src $(PYTHON) tests/integrations/gpu_nnunet_check.py; \
	else echo "nnU-Net is not installed, so its trainers were not tried: pip install '.[nnunet]'"; fi

test-oldest: $(OLDEST)/installed  ## the library's tests with the oldest PyTorch that it supports
	$(OLDEST)/bin/python -m pytest -n 2 -p no:cacheprovider $(LIBRARY_TESTS)

lint: $(VENV)/installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/installed-dev  ## speed and memory against the peers, on this machine
	$(BIN)/sizewise bench

docs: $(VENV)/installed-dev  ## the documentation site, in site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

release: $(VENV)/installed  ## build, check, and try the wheel in an environment that has nothing else; uploads nothing
	$(PIP) ".[release]"
	rm -rf dist $(RELEASE)
	$(BIN)/python -m build
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/pip --disable-pip-version-check install --quiet -c constraints.txt dist/*.whl
	cd dist && ../$(RELEASE)/bin/python ../tests/readme_snippets.py ../README.md  # not beside src/: the wheel is tried

$(VENV)/installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) torch
	$(PIP) --editable ".[train]"
	touch $@

$(VENV)/installed-dev: $(VENV)/installed
	$(PIP) --editable ".[train,dev,peers]"
	touch $@

$(OLDEST)/installed: pyproject.toml
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/pip --disable-pip-version-check install --quiet torch==2.6.0 "numpy<2.3" scipy pytest pytest-xdist hypothesis
	$(OLDEST)/bin/pip --disable-pip-version-check install --quiet --no-deps --editable .
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) $(RELEASE) dist site demo .pytest_cache .mypy_cache .ruff_cache .hypothesis
