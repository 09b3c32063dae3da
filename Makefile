# Common commands. PYTHON chooses the environment.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)
SOURCES = nmt_cli tests $(wildcard benchmarks) wheels

# Tests of what must work without torch; run on every supported version of Python.
WITHOUT_TORCH = $(addprefix tests/, $(addsuffix .py, cli/test_app cli/test_init \
  cli/test_score_command cli/test_score_details cli/test_settings config/test_schema data/test_lines \
  data/test_process_pool data/test_splitting data/test_subword_model data/test_wordpiece \
  extras/test_demo_grammar faults/text/test_misalignment scoring/test_scoring storage/test_files \
  storage/test_manifest terminal/test_console test_errors test_machine))

.PHONY: install demo test test-all test-gpu test-peers test-without-torch wheel runtime-wheel dist check fix docs

install:  ## make .venv with everything that tests and checks need
	python3 -m venv .venv
	.venv/bin/pip install -q -c constraints.txt -e '.[test]'

demo:  ## prepare, train, average, translate and score a small model
	$(PYTHON) -m nmt_cli demo

test:  ## run the tests and checks that each commit needs; at most 8 minutes on two cores
	$(PYTHON) -m pytest -n 2 --dist worksteal

test-all:  ## run the tests marked `slow` too: sweeps, fuzzers, learning, recipes
	$(PYTHON) -m pytest -n 2 --dist worksteal -m "not peers and not gpu"

test-gpu:  ## compare training and translating on a GPU with the CPU; CI has none
	TRITON_INTERPRET=0 $(PYTHON) -m pytest -m gpu tests/gpu

test-peers:  ## compare with other toolkits; needs pip install -e '.[peers]', CI does not run it
	$(PYTHON) -m pytest -m peers tests/peers

test-without-torch:  ## run the tests that need no torch: PYTHON=python3.13 make test-without-torch
	$(PYTHON) -m pytest $(WITHOUT_TORCH)

wheel:  ## build the wheel of nmt-cli with the compiled CPU kernels into dist/
	$(PYTHON) wheels/build.py

runtime-wheel:  ## build nmt-cli-runtime, which translates, scores and serves without torch
	$(PYTHON) wheels/build.py --runtime

dist: wheel runtime-wheel  ## build both wheels and the sdist, checked with auditwheel; needs '.[dev]'
	$(PYTHON) -m build --sdist
	$(PYTHON) wheels/check.py dist/*.whl

check:  ## check style, types and import layers
	$(PYTHON) -m ruff check $(SOURCES)
	$(PYTHON) -m ruff format --check $(SOURCES)
	$(PYTHON) -m mypy
	$(PYTHON) -c "from importlinter.cli import lint_imports_command as check; check()"

fix:  ## let ruff fix and format the code
	$(PYTHON) -m ruff check --fix $(SOURCES)
	$(PYTHON) -m ruff format $(SOURCES)

docs:  ## generate docs/cli.md, docs/man, cli_surface.txt, docs/demo.svg and the lists in CONTRIBUTING.md
	$(PYTHON) -m nmt_cli.cli.docs
	$(PYTHON) docs/picture.py
	$(PYTHON) docs/architecture.py
