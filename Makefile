# Glassformer. `make demo` and `make test` need only Python 3.11+ and make; they install the rest into $(VENV).

PYTHON ?= python3
VENV   ?= .venv
# Use another torch wheel than the pinned one, for instance a CUDA build or a file: make demo TORCH=/path/to/torch.whl
TORCH  ?=
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
CONSTRAINTS := $(if $(TORCH),,-c constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-durations check format bench equations claims clean

help:  ## show this list
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

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

demo: $(VENV)/.installed  ## train a small translator on the built-in corpus, translate, show its attention
	$(BIN)/glassformer demo --out runs/demo

test: $(VENV)/.test  ## run the tests
	$(BIN)/python -m pytest -n 2

test-long: $(VENV)/.test  ## run the tests that take minutes
	$(BIN)/python -m pytest -m long

test-durations: $(VENV)/.test  ## run the tests and list the 40 slowest
	$(BIN)/python -m pytest -n 2 --durations=40

check: $(VENV)/.check  ## check formatting, lint and types
	$(BIN)/ruff format --check src tests benchmarks docs
	$(BIN)/ruff check src tests benchmarks docs
	$(BIN)/mypy

format: $(VENV)/.check  ## format the code
	$(BIN)/ruff format src tests benchmarks docs
	$(BIN)/ruff check --fix src tests benchmarks docs

bench: $(VENV)/.test  ## run the benchmarks (make bench DATA=folder for real data)
	@for file in benchmarks/*.py; do echo "== $$file"; $(BIN)/python $$file $(if $(DATA),--data $(DATA),) || echo "(not run)"; done

equations: $(VENV)/.installed  ## write docs/equations.md
	$(BIN)/python docs/equations.py

claims: $(VENV)/.installed  ## measure the claims (minutes), write docs/claims.md
	$(BIN)/glassformer experiment claims --out runs/claims --write docs/claims.md

clean:  ## remove caches and build files (runs are kept)
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis dist build
	find . -name __pycache__ -not -path './$(VENV)/*' -exec rm -rf {} +
