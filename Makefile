# `make run` and `make test` do all their own set-up in .venv; nothing has to be installed first but Python >= 3.11.

PYTHON ?= python3
VENV ?= .venv
RUNS ?= runs
WORKERS ?= 2
# Tasks of each edit, and how many of those the slower baselines get the paper profile for.
PER_ACTION ?= 250
PAPER_PER_ACTION ?= 20

BIN := $(VENV)/bin
ATOMWORLD := $(BIN)/atomworld
BASELINES := random_edit wrong_site mirrored scaled shifted empty garbage \
	cartesian_by_lengths listed_copy in_cell_neighbours
EVALUATE := $(ATOMWORLD) evaluate --suite $(RUNS)/atommotor --per-action $(PER_ACTION) --workers $(WORKERS) --resume

.PHONY: run test test-slow lint docs benchmark clean

run: $(VENV)/.core ## the suite, all baselines, the table of results
	$(ATOMWORLD) generate --suite atommotor --out $(RUNS)/atommotor
	@for policy in oracle noop; do \
		$(EVALUATE) --policy $$policy --out $(RUNS)/$$policy --profile both || exit $$?; \
	done
	@for policy in $(BASELINES); do \
		$(EVALUATE) --policy $$policy --out $(RUNS)/$$policy --profile both --paper-per-action $(PAPER_PER_ACTION) \
			|| exit $$?; \
	done
	@$(ATOMWORLD) table $(addprefix $(RUNS)/,oracle noop $(BASELINES)) --out $(RUNS)/table.txt

test: $(VENV)/.dev ## the quick tests
	$(BIN)/python -m pytest -m "not slow" -n $(WORKERS) --dist worksteal

test-slow: $(VENV)/.dev ## the tests that take minutes
	$(BIN)/python -m pytest -m slow -n $(WORKERS) --dist worksteal

lint: $(VENV)/.dev ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/.dev ## the generated pages and pictures of docs/
	$(BIN)/python docs/make_gallery.py

benchmark: $(VENV)/.dev ## the figures of docs/benchmarks.md
	$(BIN)/python benchmarks/loop_speed.py

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean: ## the virtual environment, the results and compiled code
	rm -rf $(VENV) $(RUNS) .pytest_cache rewards/matcher/__pycache__/*.nb[ci]
