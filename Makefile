# Everything a person needs to type. `make demo` and `make test` set up what they need themselves.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export COMPLIANCE_HOME ?= $(CURDIR)/.compliance
export DAGSTER_HOME ?= $(COMPLIANCE_HOME)/dagster
export PYTHONWARNINGS ?= ignore

.PHONY: help setup demo ui test test-services lint bench soak lock system-packages clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

setup: $(VENV)/.run  ## The environment that runs the project

$(VENV)/.run: requirements/app.txt pyproject.toml guardrails/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/app.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e guardrails -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	touch $@

$(VENV)-eval/.run: requirements/eval.txt  ## Ragas in an environment of its own
	test -x $(VENV)-eval/bin/python || $(PYTHON) -m venv $(VENV)-eval
	$(VENV)-eval/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/eval.txt
	touch $@

$(VENV)-litellm/.run: requirements/litellm.txt  ## The gateway of the tests in an environment of its own
	test -x $(VENV)-litellm/bin/python || $(PYTHON) -m venv $(VENV)-litellm
	$(VENV)-litellm/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/litellm.txt
	touch $@

demo: setup  ## The whole promise on the shipped sample: traces in, archived and verified PDF out
	@$(BIN)/compliance demo

ui: setup  ## Dagster's web interface with the demo's runs (http://127.0.0.1:3000)
	@mkdir -p $(DAGSTER_HOME) && ln -sf $(CURDIR)/dagster.yaml $(DAGSTER_HOME)/dagster.yaml
	env --default-signal=INT --default-signal=TERM $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p 3000

test: $(VENV)/.dev $(VENV)-eval/.run $(VENV)-litellm/.run  ## Every test that needs Python and the package registries only
	$(BIN)/python -m pytest -m "not services and not soak" -n 2 --dist loadfile

test-services: $(VENV)/.dev system-packages  ## Tests against real servers that Debian packages bring
	$(BIN)/python -m pytest -m "services and not soak"

soak: $(VENV)/.dev  ## Long sweeps: kills and byte flips
	$(BIN)/python -m pytest -m soak

lint: $(VENV)/.dev  ## Style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check guardrails/compliance_guardrails compliance_pipelines/core compliance_pipelines/adapters
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## Figures, each beside what one would use instead
	$(BIN)/python -m benchmarks

lock:  ## Make the hash-pinned requirements again (needs uv)
	uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q requirements/app.in -o requirements/app.txt
	uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q requirements/dev.in -c requirements/app.txt -o requirements/dev.txt

system-packages:  ## Debian packages of `make test-services` (installs them as root, says what is missing otherwise)
	bash .ci/system-packages

clean:  ## Remove what the demo and the tests wrote
	rm -rf $(COMPLIANCE_HOME) build dist .hypothesis .ruff_cache
