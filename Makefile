# Everything runs from .venv, which the first target that needs it creates.
.PHONY: demo tournament test bench clean
BIN := .venv/bin
READY := .venv/.ready

demo: $(READY)
	$(BIN)/fallow report experiments/*.toml --out report --reproduction docs/reproduction.md \
		--tournament docs/tournament.json

# About half an hour on two cores; after a break it goes on.
tournament: $(READY)
	$(BIN)/fallow tournament experiments/tournament/*.toml --out report/tournament \
		--page docs/tournament.md
	cp report/tournament/standings.json docs/tournament.json

test: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest

bench: $(READY)
	$(BIN)/python -m benchmarks

clean:
	rm -rf .venv build dist report .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

$(READY): pyproject.toml constraints.txt
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "fallow needs Python 3.11 or newer, python3 is $$(python3 -V)"; exit 1; }
	python3 -m venv .venv
	PIP_CONSTRAINT=constraints.txt $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
