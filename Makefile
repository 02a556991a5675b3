# Every command a contributor needs. `make` alone prints them.
# The environment is a private venv in .venv, built on first use from pyproject.toml.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.runtime
STAMP := $(VENV)/.installed
RELEASE := $(VENV)/.release
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check
# Tests start some thousand processes: with bytecode kept, whatever the caller's shell says of it,
# none of them compiles the same modules anew.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest
COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header
# LOCKED=1 installs what locks/ names, by hash, and nothing else. Without --no-deps pip would look for
# dependencies that have extras (lightkube wants httpx2[http2]) among all releases, and fail once there
# is one newer than the lock's. What a lock forgot, `pip check` names.
LOCKED ?=
ARGS ?=
# Tests at once in the suites of real machines. Boots and controllers wait more than they work: two
# leave 42 % of two cores idle, three 22 % in the suite of boots.
slow: WORKERS = 4
test-kube: WORKERS = 3
PREFIX ?= $(HOME)/.local

.DEFAULT_GOAL := help
.PHONY: help setup check fix test slow kube-tools test-kube demo demo-node manual agent bench bench-boot bench-fleet bench-kube lock sbom dist

help: ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# What `fairlead` itself needs; the tests and checks need more.
$(RUNTIME): pyproject.toml locks/runtime.txt
	@$(PYTHON) -c 'import sys; v=sys.version_info; sys.exit(0 if v>=(3,11) else f"Python 3.11 or newer is needed; {sys.executable} is {v[0]}.{v[1]}. Try: make PYTHON=python3.12 $(MAKECMDGOALS)")'
	$(PYTHON) -m venv $(VENV)
ifeq ($(LOCKED),)
	$(PIP) --editable .
else
	$(PIP) --no-deps --require-hashes --requirement locks/runtime.txt --requirement locks/build.txt
	$(PIP) --no-deps --no-build-isolation --editable .
endif
	@touch $(RUNTIME)

$(STAMP): $(RUNTIME) locks/develop.txt
ifeq ($(LOCKED),)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group test --group check
else
	$(PIP) --no-deps --require-hashes --requirement locks/develop.txt --requirement locks/build.txt
	$(BIN)/python -m pip check
endif
	@touch $(STAMP)

$(RELEASE): $(STAMP)
	$(PIP) --upgrade "pip>=25.1"
	$(PIP) --group release
	@touch $(RELEASE)

setup: $(STAMP) ## create .venv with everything the other commands need

check: $(STAMP) ## format, lint, types, import contracts, Python floor of the agent, guards of the house
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/vermin --quiet --no-tips --violations --eval-annotations --target=3.10- src/fairlead/agent src/fairlead/contract src/fairlead/trust src/fairlead/errors.py
	$(PYTEST) --quiet tests/unit/inputs/test_registry.py tests/architecture/test_guards.py

fix: $(STAMP) ## let the tools repair what they can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(STAMP) ## the default tests (no root, under 3 minutes); ARGS="-k name" narrows
	$(PYTEST) -n 3 --dist worksteal -m "not slow and not root" $(ARGS)

demo: $(RUNTIME) ## start a control plane and three nodes on this computer (no root)
	@$(BIN)/fairlead up --detach $(ARGS)

demo-node: ## boot one node in a directory, from a real config, and draw the boot (no root)
	@PYTHON=$(PYTHON) deploy/node/demo.sh

manual: $(RUNTIME) ## install man pages and shell completion; PREFIX=~/.local or /usr/local, DESTDIR
	@$(BIN)/python -m fairlead.cli.manual $(DESTDIR)$(PREFIX)

agent: ## build what ships to nodes: build/agent (a tree) and a .deb; reproducible
	$(PYTHON) deploy/node/build_agent.py build $(ARGS)

bench: $(STAMP) ## what a boot and the control plane cost, as ratios in one run; fails above its bars
	$(PYTHON) benchmarks/boot_cost.py
	$(BIN)/python benchmarks/control_plane.py
	$(BIN)/python benchmarks/answers.py
	$(BIN)/python benchmarks/memory.py
	$(BIN)/python benchmarks/door.py
	$(BIN)/python benchmarks/hotfix_service.py

bench-boot: $(STAMP) ## when the agent starts, in real boots, against the two models of AKS; needs root
	$(BIN)/python benchmarks/boot_start.py $(ARGS)

bench-fleet: $(STAMP) ## 30 real nodes at once, each reporting back; ARGS="--nodes 5"; needs root
	$(BIN)/python benchmarks/boot_fleet.py $(ARGS)

bench-kube: $(STAMP) ## 5,000 pools on a real API server, beside kopf; 1,000 machines that roll; needs make kube-tools
	$(BIN)/python benchmarks/kube_pools.py $(ARGS)
	$(BIN)/python benchmarks/kube_rollout.py

slow: $(STAMP) ## the long suites: 100,000 hostile inputs, every crash point, real boots; needs root
	FAIRLEAD_ALL_EXAMPLES=1 $(PYTEST) -n $(WORKERS) --dist worksteal -m "(slow or root or hypothesis) and not kube" $(ARGS)

kube-tools: $(STAMP) ## build API server, kubelet, Cluster API and others once, into the user's cache; needs Go
	$(BIN)/python tests/kube/built_tools.py

test-kube: $(STAMP) ## pools on a real API server, up to nodes that run pods; needs root and make kube-tools
	$(PYTEST) -n $(WORKERS) --dist worksteal -m "kube and (slow or root)" $(ARGS)

lock: $(RELEASE) ## write locks/ anew: every dependency with its hashes, as new as pyproject.toml allows
	$(COMPILE) --upgrade --group build --output-file locks/build.txt
	$(COMPILE) --upgrade pyproject.toml --output-file locks/runtime.txt
	$(COMPILE) --upgrade pyproject.toml --group test --group check --output-file locks/develop.txt

dist: $(RELEASE) ## the source distribution and the wheel: build/dist
	@rm -rf build/dist
	$(BIN)/python -m build --outdir build/dist

# Of an environment with the release alone in it, so that it names what comes along, and why.
sbom: dist ## the bill of materials of a release, CycloneDX: build/fairlead.cdx.json
	@rm -rf build/released
	$(PYTHON) -m venv --without-pip build/released
	$(BIN)/uv pip install --quiet --python build/released/bin/python --require-hashes --requirement locks/runtime.txt
	$(BIN)/uv pip install --quiet --python build/released/bin/python --no-deps build/dist/*.whl
	@rm build/released/lib/python*/site-packages/fairlead-*/direct_url.json # where the wheel lay
	$(BIN)/cyclonedx-py environment --output-reproducible --output-file build/fairlead.cdx.json build/released/bin/python
	@rm -rf build/released
