# Needs make and Python 3.11 or newer with venv; everything else comes into .venv from
# the lock files. PYTHON=… names the interpreter, where the first one found won't do.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
.PHONY: help demo test chaos races check bench lock docs clean

BIN := .venv/bin
UV := $(BIN)/uv
SYNC := $(UV) pip sync --quiet --python .venv --require-hashes --compile-bytecode
INSTALL := $(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
COMPILE := $(UV) pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command "make lock" --quiet \
	$(if $(UPGRADE),--upgrade)

# The development environment holds all that a run needs: where it exists, it serves.
RUN := $(if $(wildcard .venv/.dev),.venv/.dev,.venv/.run)

help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/make \1:\2/p' $(MAKEFILE_LIST) \
		| while IFS=: read -r target text; do printf '%-12s %s\n' "$$target" "$$text"; done

demo: $(RUN) ## Run the main job here (ANSWERS=approve|edit|reject decides it, TICKET=FILE)
	@$(BIN)/placet demo $(if $(ANSWERS),--answers "$$ANSWERS") $(if $(TICKET),--ticket "$$TICKET")

test: .venv/.dev ## Run all tests
	@$(BIN)/pytest -n 2 --dist loadfile

chaos: .venv/.dev ## Kill what can be killed under requests (N=200, SEED=, DB=sqlite|postgresql)
	@$(BIN)/python -m tests.chaos $(if $(N),--requests "$$N") $(if $(SEED),--seed "$$SEED") $(if $(DB),--database "$$DB")

RACING := claim_races effect_races desk_races state_machine interleavings

races: .venv/.dev ## Many reach for one effect, and every point at which a process dies (N=50)
	@PLACET_RACES=$(or $(N),50) $(BIN)/pytest -n 2 --dist loadfile --timeout 3600 \
		$(RACING:%=tests/integration/test_%.py) \
		tests/acceptance/test_recovery_points.py

check: .venv/.dev ## Check style, types and the import arrow
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: .venv/.dev ## Print what things cost, as ratios to named bounds
	@$(BIN)/python -m tests.benchmarks.judgement
	@$(BIN)/python -m tests.benchmarks.start
	@$(BIN)/python -m tests.benchmarks.whole_request
	@$(BIN)/python -m tests.benchmarks.guarded_effects

lock: .venv/.build ## Write the lock files anew (UPGRADE=1 takes the newest versions)
	$(COMPILE) pyproject.toml -o requirements.lock
	$(COMPILE) -c requirements.lock --group build -o requirements-build.lock
	$(COMPILE) -c requirements.lock -c requirements-build.lock \
		pyproject.toml --extra models --group dev -o requirements-dev.lock

docs: .venv/.dev ## Write the pages anew that are made from code and tests
	$(BIN)/python -c 'from pathlib import Path; from policies import lifecycle; \
		Path("docs/states.md").write_text(lifecycle.as_markdown(), encoding="utf-8")'
	@$(BIN)/python -m tests.promises
	@$(BIN)/python -m tests.field_failures

clean: ## Remove .venv, caches and builds; the data in .placet stays
	rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .import_linter_cache \
		.hypothesis .benchmarks dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

SUITS := import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))
CANDIDATES := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)

# An environment whose Python has gone is made anew, whatever its stamps say.
ifneq ($(shell test -x $(BIN)/python && echo there),there)
.PHONY: .venv/.build
endif

# uv, and what builds the project without a network. Quiet twice: pip's errors are told,
# its warnings (of an index that lacks a package which another one has) are not.
.venv/.build: requirements-build.lock
	@$(BIN)/python -c 'import pip; $(SUITS)' 2>/dev/null || $(MAKE_VENV)
	@$(BIN)/python -m pip install --quiet --quiet --disable-pip-version-check \
		--require-hashes --requirement requirements-build.lock
	@touch $@

define MAKE_VENV
{ \
	for python in $(CANDIDATES); do \
		if "$$python" -c '$(SUITS)' 2>/dev/null; then \
			exec "$$python" -m venv --clear .venv; \
		fi; \
	done; \
	echo 'Placet needs Python 3.11 or newer with its venv module (Debian: python3-venv).'; \
	echo 'Tried: $(CANDIDATES). Name another one with: make PYTHON=/path/to/python'; \
	exit 1; \
} >&2
endef

.venv/.run: requirements.lock pyproject.toml .venv/.build
	@$(SYNC) requirements-build.lock requirements.lock
	@$(INSTALL)
	@touch $@

.venv/.dev: requirements-dev.lock pyproject.toml .venv/.build
	@$(SYNC) requirements-dev.lock
	@$(INSTALL)
	@touch $@
