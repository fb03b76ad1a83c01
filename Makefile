# `make run` and `make test` do all their own set-up in .venv; nothing has to be installed first but Python >= 3.11.

PYTHON ?= python3
VENV ?= .venv
RUNS ?= runs
WORKERS ?= 2
# Tasks of each edit, and how many of those the slower baselines get the paper profile for.
PER_ACTION ?= 250
PAPER_PER_ACTION ?= 20
# Steps of the short GRPO run of the small policy, and test tasks of each edit before and after. 0 steps leave training
# out, and with it PyTorch.
GRPO_STEPS ?= 40
COMPARE_PER_ACTION ?= 50

BIN := $(VENV)/bin
ATOMWORLD := $(BIN)/atomworld
BASELINES := random_edit wrong_site mirrored scaled shifted empty garbage \
	cartesian_by_lengths listed_copy in_cell_neighbours
EVALUATE := $(ATOMWORLD) evaluate --suite $(RUNS)/atommotor --per-action $(PER_ACTION) --workers $(WORKERS) --resume

# The cells that the small policy can read, on the test split.
SMALL_ACTIONS := change,remove,swap,add
SMALL_TASKS := $(RUNS)/small-tasks-$(COMPARE_PER_ACTION)
GRPO := $(RUNS)/grpo-$(GRPO_STEPS)

.PHONY: run baselines train test test-slow lint docs benchmark clean

run: baselines $(if $(filter-out 0,$(GRPO_STEPS)),train) ## the baselines, then a short training of the small policy

baselines: $(VENV)/.core ## the suite, all baselines, the table of results
	$(ATOMWORLD) generate --suite atommotor --out $(RUNS)/atommotor
	@for policy in oracle noop; do \
		$(EVALUATE) --policy $$policy --out $(RUNS)/$$policy --profile both || exit $$?; \
	done
	@for policy in $(BASELINES); do \
		$(EVALUATE) --policy $$policy --out $(RUNS)/$$policy --profile both --paper-per-action $(PAPER_PER_ACTION) \
			|| exit $$?; \
	done
	@$(ATOMWORLD) table $(addprefix $(RUNS)/,oracle noop $(BASELINES)) --out $(RUNS)/table.txt

train: $(VENV)/.train ## a short GRPO run of the small policy, before and after on unseen crystals
	@test -e $(SMALL_TASKS)/tasks.jsonl || $(ATOMWORLD) generate --actions $(SMALL_ACTIONS) \
		--min-sites 2 --max-sites 6 --cif-style compact --per-action $(COMPARE_PER_ACTION) --out $(SMALL_TASKS)
	@test -e $(GRPO)/model.safetensors || $(BIN)/python -m training.grpo --config training/recipes/cpu_small.yaml \
		--max_steps $(GRPO_STEPS) --heldout_tasks 0 --logging_steps 10 --output_dir $(GRPO) \
		$$(test ! -d $(GRPO) || echo --resume_from_checkpoint last)
	@$(BIN)/python -m training.compare hf:small $(GRPO) --suite $(SMALL_TASKS) --prompt short --max-new-tokens 224 \
		--batch-size 50 --workers $(WORKERS) --out $(GRPO)-compared --resume

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
	$(BIN)/python docs/make_report_pictures.py

benchmark: $(VENV)/.dev ## the figures of docs/benchmarks.md
	$(BIN)/python benchmarks/loop_speed.py

$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/.train: $(VENV)/.core
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train]'
	touch $@

$(VENV)/.dev: $(VENV)/.train
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,train,mlip,dft]'
	touch $@

clean: ## the virtual environment, the results and compiled code
	rm -rf $(VENV) $(RUNS) .pytest_cache rewards/matcher/__pycache__/*.nb[ci]
