# The front door: each target says what it does and does it from a clean clone.
# Anything longer than a few lines lives in scripts/.

# Parallel test processes; TESTS_IN_PARALLEL= (empty) runs them in one.
TESTS_IN_PARALLEL ?= 2
XDIST = $(if $(TESTS_IN_PARALLEL),-n $(TESTS_IN_PARALLEL) --dist loadscope)

BIN = .venv/bin

.DEFAULT_GOAL = help
.PHONY: help install run test check bench lock clean

help: ## List the targets.
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' Makefile

install: .venv/run.stamp ## Make .venv and install what a server needs, all of it locked.
	@echo "Installed in .venv: try $(BIN)/readback --help."

run: .venv/run.stamp ## Start both planes on this machine; options in ARGS=.
	@echo "Starting Readback; Ctrl-C stops it."
	@$(BIN)/readback serve $(ARGS)

test: .venv/dev.stamp ## Run the tests with a real browser; pytest options in ARGS=.
	@echo "Looking for a Chromium."
	@chromium=$$(scripts/chromium) && \
	echo "Running the tests with $$chromium." && \
	READBACK_TEST_CHROMIUM=$$chromium $(BIN)/python -m pytest $(XDIST) $(ARGS)

check: .venv/dev.stamp ## Check style, format and types.
	@echo "Checking style with ruff check."
	@$(BIN)/ruff check
	@echo "Checking format with ruff format."
	@$(BIN)/ruff format --check
	@echo "Checking types with mypy."
	@$(BIN)/mypy

# Without a command, or with options only, it is `peers`.
bench: .venv/dev.stamp ## Compare Readback with its peers; options or a command in ARGS=.
	@echo "Measuring; use a machine that does nothing else."
	@$(BIN)/python -m bench $(if $(filter-out -%,$(firstword $(ARGS))),,peers) $(ARGS)

lock: .venv/dev.stamp ## Lock the newest versions that pyproject.toml allows.
	@echo "Locking requirements/dev.txt, run.txt and bench.txt."
	@scripts/lock $(BIN)/uv

clean: ## Remove .venv, caches and build artefacts; the data under var/ stays.
	@echo "Removing .venv, caches and build artefacts."
	@rm -rf .venv .bench build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -not -path './node_modules/*' -prune -exec rm -rf {} +

.venv/%.stamp: requirements/%.txt pyproject.toml scripts/install
	@scripts/install $*
