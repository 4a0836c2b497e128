# Everything from nothing but Python 3.11 and make:
#   make reproduce   set up and run all of the paper on a small scale
#   make test        set up and run the tests, the linter and the type checker
#   make sanitize    build what is in C with sanitizers and run its tests
#   make browser     set up what the tests of the playground need beside Chromium and Node
#   make docs        set up and build the documentation site in site/
#   make integrations  set up the tools that we integrate with, apart, and run their tests
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TOOLS := .venv-integrations
OUT ?= out

.PHONY: reproduce test browser integrations lint slow sanitize clean docs

reproduce: $(VENV)/ready
	$(BIN)/possibleworlds reproduce --out $(OUT)/quick

test: lint
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist worksteal

browser: $(VENV)/ready
	$(BIN)/python -m pip install --quiet -c constraints.txt --group browser
	npm install --silent --no-save --prefix $(VENV) axe-core@4.14.0

lint: $(VENV)/ready
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/zizmor --quiet --offline .github

docs: $(VENV)/ready
	$(BIN)/mkdocs build --strict

slow: $(VENV)/ready
	$(BIN)/pytest -m slow

sanitize: $(VENV)/ready
	$(BIN)/pytest -m slow tests/data/test_native.py tests/models/test_native.py

integrations: $(TOOLS)/ready
	HF_HUB_OFFLINE=1 $(TOOLS)/bin/python -m pytest tests/integrations tests/language -m "slow or not slow"

$(TOOLS)/ready: pyproject.toml constraints-integrations.txt
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/python -m pip install --quiet -c constraints-integrations.txt pip torch
	$(TOOLS)/bin/python -m pip install --quiet -c constraints-integrations.txt --group integrations -e .
	touch $@

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt pip
	$(BIN)/python -m pip install --quiet -c constraints.txt --group dev -e '.[train]'
	touch $@

clean:
	rm -rf $(VENV) $(TOOLS) $(OUT) build dist *.egg-info src/*.egg-info
