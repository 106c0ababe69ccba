# Needs Python 3.11 or newer and git, nothing else. ARGS reach the program: make run ARGS="--port 8060"
PYTHON ?= python3
ARGS ?=
BIN := .venv/bin
WORKERS ?= 2
# A file's tests share what their module made; files keep their order, those in a browser last.
SHARED := -n $(WORKERS) --dist loadfile --no-loadscope-reorder
BENCHES := $(filter-out history,$(sort $(notdir $(basename $(wildcard bench/*.py)))))

.DEFAULT_GOAL := help
.PHONY: help install install-dev run demo agent check test test-live test-day bench bench-history docs clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

install: .venv/installed  ## what `make run` needs, into .venv

install-dev: .venv/installed-dev  ## what the tests need, too

.venv/installed: requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed" if sys.version_info < (3, 11) else 0)'
	@echo "Installing into .venv; the first time this takes a minute or two."
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

.venv/installed-dev: .venv/installed requirements-dev.txt
	$(BIN)/pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@touch $@

run: install  ## the hub: collector and web page
	@$(BIN)/python app.py run $(ARGS)

demo: install  ## the hub against a simulated cluster
	@$(BIN)/python app.py demo $(ARGS)

agent: install  ## tachograph-agent.pyz, to copy to each node
	$(BIN)/python deploy/build_agent.py $(ARGS)

check: install-dev  ## format, lint, types, generated pages
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m cli.docs --check

test: install-dev  ## fast tests, at most 10 minutes on two cores
	$(BIN)/python -m pytest -m "not live" $(SHARED) $(ARGS)

test-live: install-dev  ## slow tests and those with servers of others, at most 45 minutes
	@status=0; \
	$(BIN)/python -m pytest -m live $(SHARED) --ignore tests/live --ignore tests/pipeline $(ARGS) || status=$$?; \
	echo "== those that need the machine for themselves"; \
	$(BIN)/python -m pytest -m live tests/live tests/pipeline $(ARGS) || status=$$?; \
	exit $$status

test-day: install-dev  ## 24 hours of the demo through the collector, without a fault: no alert; 10 to 20 minutes
	$(BIN)/python -m pytest -m live tests/live/a_day.py $(ARGS)

bench: install-dev  ## budgets, measured: parsing, store, agent, page; then bench-history
	@for name in $(BENCHES); do echo "== $$name"; $(BIN)/python -m bench.$$name || exit 1; done
	@$(MAKE) --no-print-directory bench-history

bench-history: install-dev  ## history against Prometheus and VictoriaMetrics, into docs/performance.md
	@echo "== history"; $(BIN)/python -m bench.history $(ARGS)

docs: install  ## rewrite the pages that tables write
	$(BIN)/python -m cli.docs

clean:  ## remove what these targets made
	rm -rf .venv build tachograph-agent.pyz
