# Glassformer. `make demo` and `make test` create what they need from nothing but Python 3.11+ and make.

PYTHON ?= python3
VENV   ?= .venv
# Another torch wheel than the pinned one, for instance a CUDA build or a file: make demo TORCH=/path/to/torch.whl
TORCH  ?=
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
CONSTRAINTS := $(if $(TORCH),,-c constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long check format bench equations clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

$(VENV)/.python:
	@$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "Python 3.11 or newer is needed, got " + sys.version.split()[0] + ". Try: make demo PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.installed: $(VENV)/.python pyproject.toml constraints.txt
	$(if $(TORCH),$(PIP) install $(TORCH),)
	$(PIP) install --quiet $(CONSTRAINTS) -e .
	@touch $@

$(VENV)/.test: $(VENV)/.installed
	$(PIP) install --quiet $(CONSTRAINTS) -e ".[test]"
	@touch $@

$(VENV)/.check: $(VENV)/.test
	$(PIP) install --quiet $(CONSTRAINTS) -e ".[check]"
	@touch $@

demo: $(VENV)/.installed  ## train a small translator on the built-in corpus, translate, look inside
	$(BIN)/glassformer demo --out runs/demo

test: $(VENV)/.test  ## the tests
	$(BIN)/python -m pytest -n 2

test-long: $(VENV)/.test  ## the tests that take minutes
	$(BIN)/python -m pytest -m long

check: $(VENV)/.check  ## formatting, lint and types
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/mypy

format: $(VENV)/.check  ## format the code
	$(BIN)/ruff format src tests benchmarks docs
	$(BIN)/ruff check --fix src tests benchmarks docs

bench: $(VENV)/.test  ## the benchmarks (make bench DATA=folder for real data)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file $(if $(DATA),--data $(DATA),) || echo "(not run)"; done

equations: $(VENV)/.installed  ## write docs/equations.md anew
	$(BIN)/python docs/equations.py

clean:  ## remove what the tools left (runs are kept)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find . -name __pycache__ -not -path './$(VENV)/*' -exec rm -rf {} +
