# The commands of this repository. Each target works in a clean clone.
# Anything longer than a few lines is in scripts/.

# Number of parallel test processes; TESTS_IN_PARALLEL= (empty) runs the tests in one. Six
# keep two cores busy, because many tests wait: for an outage to end, for a time-out.
TESTS_IN_PARALLEL ?= 6
# A file stays in one process. xdist would begin with the files that have most tests, and
# the longest have few; tests/conftest.py orders them. If a process dies, xdist would wait
# for ever for its other tests.
XDIST = $(if $(TESTS_IN_PARALLEL),\
	-n $(TESTS_IN_PARALLEL) --dist loadscope --no-loadscope-reorder --max-worker-restart=0)

MINUTES ?= 10

BIN = .venv/bin

.DEFAULT_GOAL = help
.PHONY: help install run test quick long chromium check misfortunes fleet clients bench soak fuzz lock clean
.NOTPARALLEL:

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

install: .venv/run.stamp ## Create .venv and install the locked packages of a server.
	@echo "Installed in .venv. Try $(BIN)/readback --help."

run: .venv/run.stamp ## Start the API and the cabinet on this machine; options in ARGS=.
	@echo "Starting Readback."
	@$(BIN)/readback serve $(ARGS)

PYTEST = READBACK_TEST_CHROMIUM=$$(scripts/chromium 2> /dev/null) $(BIN)/python -m pytest

test: chromium .venv/dev.stamp ## Run the tests, including a real browser; pytest options in ARGS=.
	@echo "Running the tests in random order. All of them take about five minutes on two cores."
	@$(PYTEST) $(XDIST) $(ARGS)

quick: .venv/dev.stamp ## Run the unit tests, and those of docs, layout and deploy files.
	@echo "Running tests/unit and tests/house. They take about a minute."
	@$(PYTEST) $(XDIST) tests/unit tests/house $(ARGS)

long: chromium .venv/dev.stamp ## Run the tests that take too long for make test; options in ARGS=.
	@echo "Running the long tests, which take about three minutes on two cores."
	@$(PYTEST) $(XDIST) -m long $(ARGS)
	@echo "Running the tests of the protocol with every head parsed."
	@READBACK_TEST_PARSE_EVERY_HEAD=1 $(PYTEST) $(XDIST) tests/wire tests/conformance

# Before the packages, so that nobody waits for them and then has no browser.
chromium:
	@echo "Looking for Chromium."
	@scripts/chromium > /dev/null

fleet: .venv/dev.stamp ## Break a fleet in network namespaces; needs root, ip and HAProxy.
	@echo "Starting PostgreSQL, three replicas, two cabinets and HAProxy, each on its own machine."
	@$(BIN)/python -m pytest tests/fleet -rP $(ARGS)

misfortunes: .venv/dev.stamp ## Break connections in hundreds of ways and judge the probe.
	@echo "Running the probe on every misfortune. All of them take a few minutes on two cores."
	@$(BIN)/python -m tests.probe.misfortunes $(ARGS)

clients: .venv/dev.stamp ## Run real clients; compare them with programs.toml; names in ARGS=.
	@echo "Installing and running the clients. All of them take about three minutes."
	@$(BIN)/python -m clients $(ARGS)
	@$(BIN)/python -m pytest -m clients tests/clients

check: .venv/dev.stamp ## Check style, format and types.
	@echo "Checking style with ruff check."
	@$(BIN)/ruff check
	@echo "Checking format with ruff format."
	@$(BIN)/ruff format --check
	@echo "Checking types with mypy."
	@$(BIN)/mypy

# Without a command, or with options only, it is `peers`.
bench: .venv/dev.stamp ## Compare Readback with its peers; options or a command in ARGS=.
	@echo "Measuring. A full comparison takes about 20 minutes on an otherwise idle machine."
	@$(BIN)/python -m bench $(if $(filter-out -%,$(firstword $(ARGS))),,peers) $(ARGS)

soak: .venv/dev.stamp ## Break things under load and judge every promise; MINUTES=.
	@echo "Sending requests for $(MINUTES) minutes. Ctrl-C ends it with the figures so far."
	@$(BIN)/python -m soak --minutes "$(MINUTES)" $(ARGS)

fuzz: .venv/dev.stamp ## Look for bytes that break the API; how long in MINUTES=.
	@echo "Fuzzing for $(MINUTES) minutes."
	@$(BIN)/python -m tests.fuzz --minutes "$(MINUTES)"

lock: .venv/dev.stamp ## Lock the newest versions that pyproject.toml allows.
	@echo "Locking requirements/*.txt."
	@scripts/lock $(BIN)/uv

clean: ## Remove .venv, caches and build artefacts; keep the data in var/.
	@echo "Removing .venv, caches and build artefacts."
	@rm -rf .venv .bench .clients .fuzz .misfortunes screenshots build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './node_modules/*' -prune -exec rm -rf {} +

.venv/%.stamp: requirements/pip.txt requirements/build.txt requirements/%.txt pyproject.toml scripts/install
	@scripts/install $*
