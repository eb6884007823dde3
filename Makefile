# Everything runs from .venv, and benchmarks from .venv-bench, which has the libraries that fallow is
# compared with. The first target that needs one of them creates it.
.PHONY: demo docs notebooks tune tournament test lint fuzz live-test mutants bench bench-check dist clean
BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv-bench/.ready
INSTALL := install --disable-pip-version-check

# A minute on two cores. Results of older code would be refused, so they are run anew.
demo: $(READY)
	rm -rf report/results
	$(BIN)/python -m reproduction report reproduction/experiments/*.toml --out report --reproduction docs/explanation/reproduction.md \
		--tournament docs/explanation/tournament.json

# The documentation as a site: open site/index.html. Warnings are errors. The variable silences a notice of
# the theme on its own future.
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

# Chooses the constants of learners by trials, in about half an hour on two cores. Needed when a learner or what
# is tried has changed; after a change of the code, remove report/tune first.
TOURNAMENT := reproduction/experiments/tournament
tune: $(READY)
	$(BIN)/python -m reproduction tune $(TOURNAMENT)/learners/trials.toml --out report/tune \
		--learners $(TOURNAMENT)/learners/tuned.toml --trials $(TOURNAMENT)/learners/trials.json

# Some hours on two cores, which `python -m reproduction estimate` tells beforehand; after a break it goes
# on. After a change of the code, remove report/tournament first: results of older code are refused.
tournament: $(READY)
	$(BIN)/python -m reproduction tournament $(TOURNAMENT)/*.toml --out report/tournament \
		--page docs/explanation/tournament.md --trials $(TOURNAMENT)/learners/trials.json
	cp report/tournament/standings.json docs/explanation/tournament.json

# The tutorials, to be run and changed: build/notebooks.
notebooks: $(READY)
	$(BIN)/python -m docs.notebooks build/notebooks

test: lint
	$(BIN)/pytest -n auto

# Also run before each commit, where pre-commit is installed.
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# For the night, some fifteen minutes on two cores: ten times the hostile states, files and options of
# `make test`, 133 signals instead of 14, 5,000 requests to the service instead of 200, 210 kills of it
# and of its stores, and 3,000 simulated services instead of 300. `make fuzz SEEDS=100000` simulates
# that many more, from seed 3,000 on.
SEEDS ?= 0
fuzz: $(READY)
	FALLOW_NIGHTLY=1 $(BIN)/pytest -n auto tests/test_fuzz.py tests/test_signals.py tests/test_serve_command.py \
		tests/test_service_schema.py tests/test_simulation.py tests/test_sqlite.py tests/test_postgres.py
	cd tests && PYTHONPATH=. ../$(BIN)/python -m simulation 3000 $(SEEDS)

# The live service with real programs around it; installs them on Debian and the like, as root.
live-test: $(READY)
	.ci/install
	$(BIN)/pytest -n auto tests/test_postgres.py tests/test_service_postgres.py tests/test_radio.py tests/test_live_page.py

# Changes the source in 300 places, one at a time, and counts the changes that a fast test notices.
# About half an hour on two cores.
mutants: $(READY)
	$(BIN)/python tests/mutants.py --count 300 --seed 13 --workers 2

# About half an hour on two cores.
bench: $(BENCH_READY)
	.venv-bench/bin/python -m benchmarks

# A minute, some more where other work is done. Fails where something is more than 30 % slower against
# its baseline than benchmarks/ratios.json says, and stays so when measured again.
bench-check: $(BENCH_READY)
	.venv-bench/bin/python -m benchmarks.check

# The wheel, and the source that it is built from.
dist: $(READY)
	rm -rf dist
	$(BIN)/python -m build --no-isolation

clean:
	rm -rf .venv .venv-bench build dist report site .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	$(call new_environment,.venv)
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip $(INSTALL) --editable '.[dev]'
	@touch $@

$(BENCH_READY): pyproject.toml constraints.txt benchmarks/peers.txt
	$(call new_environment,.venv-bench)
	PIP_CONSTRAINT=constraints.txt .venv-bench/bin/pip $(INSTALL) --editable '.[cli,cluster,data,plot,postgres,serve]' \
		--requirement benchmarks/peers.txt selenium
	@touch $@

define new_environment
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "fallow needs Python 3.11 or newer, python3 is $$(python3 -V)"; exit 1; }
	python3 -m venv $(1)
endef
