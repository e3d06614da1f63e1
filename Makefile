# Everything is called by a path relative to this folder, so that spaces in its own path do no harm.
SHELL := /bin/sh
PYTHON ?=
PORT ?=
HOST ?=
ARGS ?=
DATA ?=
TIMES ?= 10
VENV := .venv
PY := $(VENV)/bin/python
TESTS := -m pytest -n 2 --dist worksteal

.DEFAULT_GOAL := help
.PHONY: help run stop test test-all fuzz contracts evaluate-locomo bench bench-expand bench-bundle bench-peer lint format lock clean distclean base dev

help:
	@echo 'make run              serve with everything it needs (PORT=, HOST=; ARGS="--no-demo" and others of manage.py run)'
	@echo 'make stop             stop what runs from this checkout'
	@echo 'make test             the tests, with the embedded PostgreSQL (ARGS="-k words" and others of pytest)'
	@echo 'make test-all         the tests with those marked slow (pictures of every page go to build/screenshots)'
	@echo 'make fuzz             the property tests with new random examples, TIMES=10 times as many as in make test'
	@echo 'make contracts        the contract scenarios (MEMORYCONSOLE_CONTRACTS=<folder>: those of another folder)'
	@echo 'make evaluate-locomo  retrieval quality on conversations in LoCoMo form (DATA=<file>)'
	@echo 'make bench            latency and ingest figures, and what its trace costs an answer'
	@echo 'make bench-expand     expand-query over a session of 100,000 messages'
	@echo 'make bench-bundle     context bundles over 100,000 claims and 50,000 facts'
	@echo 'make bench-peer       side by side with the cpersona package, in an environment of its own (docs/peer.md)'
	@echo 'make lint             style, types, missing migrations'
	@echo 'make format           lay out the code'
	@echo 'make lock             pin the dependencies anew (ARGS=--upgrade: to the newest)'
	@echo 'make clean            remove caches and the test database'
	@echo 'make distclean        also the virtual environment, the database and all that is stored in it'

run: base
	@$(PY) manage.py run $(if $(PORT),--port $(PORT)) $(if $(HOST),--host $(HOST)) $(ARGS)

stop: base
	@$(PY) manage.py run --stop

test: dev
	@$(PY) $(TESTS) -m "not slow" $(ARGS)

test-all: dev
	@$(PY) $(TESTS) $(ARGS)

fuzz: dev
	@MEMORYCONSOLE_FUZZ=$(TIMES) $(PY) $(TESTS) -m hypothesis $(ARGS)

contracts: dev
	@$(PY) -m pytest tests/contracts $(ARGS)

evaluate-locomo: dev
	@$(PY) -m tests.benchmarks.evaluate_locomo --data "$(DATA)" $(ARGS)

bench: dev
	@$(PY) -m tests.benchmarks.bench $(ARGS)

bench-expand: dev
	@$(PY) -m tests.benchmarks.expand $(ARGS)

bench-bundle: dev
	@$(PY) -m tests.benchmarks.bundle $(ARGS)

bench-peer: dev
	@$(PY) -m tests.benchmarks.peer $(ARGS)

lint: dev
	@$(PY) -m ruff check .
	@$(PY) -m ruff format --check .
	@$(PY) -m mypy
	@$(PY) manage.py pg exec -- $(PY) manage.py makemigrations --check --dry-run

format: dev
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

lock: dev
	@$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(ARGS) \
		--custom-compile-command "make lock" --output-file requirements/base.lock requirements/base.in
	@$(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(ARGS) \
		--custom-compile-command "make lock" --output-file requirements/dev.lock requirements/dev.in

clean:
	@find . -name __pycache__ -not -path './$(VENV)/*' -type d -prune -exec rm -rf {} +
	@rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis benchmarks/results build/screenshots
	@if [ -x $(PY) ]; then $(PY) -m memoryconsole.embedded.remove test; fi

distclean: clean
	@if [ -x $(PY) ]; then $(PY) -m memoryconsole.embedded.remove; fi
	@rm -rf $(VENV)

# The virtual environment holds a copy of the lock file it was made from: it is touched only when that changed.
base:
	@PYTHON="$(PYTHON)" sh requirements/install.sh base

dev:
	@PYTHON="$(PYTHON)" sh requirements/install.sh dev
