# Short names for the commands of every day. PYTHON chooses the environment.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
SOURCES = nmt_cli tests $(wildcard benchmarks)

# What must work before torch is loaded, or without it; run on every Python we name.
WITHOUT_TORCH = $(addprefix tests/test_, $(addsuffix .py, alignment cli_frame cli_init cli_score \
  cli_settings config console cores demo_grammar errors files lines manifest pieces pool \
  scoring subwords wordpiece))

.PHONY: install demo test test-without-torch check fix docs

install:  ## make .venv with everything that tests and checks need
	python3 -m venv .venv
	.venv/bin/pip install -q -c constraints.txt -e '.[test]'

demo:  ## see the whole road: prepare, train, average, translate, score
	$(PYTHON) -m nmt_cli demo

test:  ## all tests, the checks below among them
	$(PYTHON) -m pytest -n 2 --dist worksteal

test-without-torch:  ## the tests that need no torch: PYTHON=python3.13 make test-without-torch
	$(PYTHON) -m pytest $(WITHOUT_TORCH)

check:  ## style, types, layers
	$(PYTHON) -m ruff check $(SOURCES)
	$(PYTHON) -m ruff format --check $(SOURCES)
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as check; check()"

fix:  ## what a machine can put right
	$(PYTHON) -m ruff check --fix $(SOURCES)
	$(PYTHON) -m ruff format $(SOURCES)

docs:  ## docs/cli.md and the frozen surface of the command line
	$(PYTHON) -m nmt_cli.cli.docs
