# The two commands of the README are `make demo` and `make test`; everything else is for developers.

PYTHON ?= python3
BIN := .venv/bin

.PHONY: setup demo test test-rust test-python lint bench validate clean

setup: .venv/.built

.venv/.made: pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "narrows needs Python 3.11 or later"'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev
	touch $@

.venv/.built: .venv/.made Cargo.toml $(shell find crates -name '*.rs' -o -name Cargo.toml)
	$(BIN)/maturin develop --release --quiet
	touch $@

demo: setup
	$(BIN)/narrows demo -o out/demo --force

test: setup test-rust test-python

test-rust:
	cargo test --workspace --exclude narrows-python --quiet

test-python: setup
	$(BIN)/pytest

lint: setup
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	$(BIN)/ruff check python tests
	$(BIN)/ruff format --check python tests
	$(BIN)/mypy

bench: setup
	cargo bench --quiet -p narrows-scenario

validate: setup
	$(BIN)/python -m narrows.validate

clean:
	rm -rf target .venv out
