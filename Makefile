# `make demo` and `make test` are the two commands of the README; everything else is for developers.

PYTHON ?= python3
BIN := .venv/bin
CORE := units settings signal control router transport sim

.PHONY: setup tools demo test test-rust test-core test-python test-instructions bless-instructions bless lint bench validate properties clean

setup: .venv/.built

tools:
	scripts/tools

.venv/.made: pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "narrows needs Python 3.11 or later"'
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev
	touch $@

.venv/.built: .venv/.made Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name Cargo.toml -o -name fingerprints.txt)
	PIP_QUIET=1 $(BIN)/maturin develop --release --quiet
	touch $@

demo: setup
	$(BIN)/narrows demo -o out/demo --force

test: tools setup lint test-core test-rust test-instructions test-python

lint: setup
	cargo fmt --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
		cargo doc --quiet --workspace --exclude narrows-python --no-deps --document-private-items
	$(BIN)/ruff check --quiet python tests benches validation
	$(BIN)/ruff format --check --quiet python tests benches validation
	$(BIN)/mypy --no-error-summary

# The core has no clock, no randomness and no files of its own, so it builds for a target without
# them.
test-core: tools
	cargo build --quiet --target wasm32-unknown-unknown $(CORE:%=-p narrows-%)
	cargo build --quiet --target wasm32-unknown-unknown -p narrows-scenario --no-default-features

test-rust:
	cargo test --workspace --exclude narrows-python --quiet

# Fails if a packet costs more than 3 % more instructions than crates/sim/benches/instructions.txt
# says.
test-instructions: tools
	cargo bench --quiet -p narrows-sim --bench instructions

bless-instructions: tools
	NARROWS_BLESS=1 cargo bench --quiet -p narrows-sim --bench instructions

# Writes anew what is made from the sources: fingerprints, pages, tables within pages.
bless:
	NARROWS_BLESS=1 cargo test --quiet -p narrows-scenario --test kept_texts

test-python: setup
	$(BIN)/pytest

# Tries a hundred times as many cases of the TCP sender as `make test` does: NARROWS_CASES=1000000.
properties: export NARROWS_CASES ?= 1000000
properties:
	cargo test --release -p narrows-transport --test properties

bench: setup
	cargo bench --quiet -p narrows-scenario --bench speed
	$(BIN)/python benches/sweeps.py
	$(BIN)/python benches/controller.py

validate: setup
	$(BIN)/python validation/validate.py

clean:
	rm -rf target .venv out
