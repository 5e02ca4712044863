# `make demo` and `make test` are the two commands of the README; everything else is for developers.

PYTHON ?= python3
BIN := .venv/bin
CORE := units settings signal control router transport sim
# What this machine can build: "bpf", the laws for Linux's kernel, or nothing. Known only once
# `tools` has run.
FEATURES = $(shell scripts/features)
OF_PYTHON = $(if $(FEATURES),--features $(FEATURES))
# Each brings those of the rooms that it calls.
OF_WORKSPACE = $(FEATURES:%=--features narrows-emulator/%)
OF_ALL = $(FEATURES:%=--features narrows-python/%)

.PHONY: built-tests lint-format lint-rust lint-types setup tools demo hosts objects stacks conformance package api cross wheel test-wheel general playground responses docs docs-links test-web bench-web test-hosts test-s2n test test-rust test-core test-front test-lab test-python test-instructions bless-instructions bless lint bench validate validate-real compare-bbr properties mutants fuzz clean

setup: .venv/.built .venv/.papers

tools:
	scripts/tools

.venv/.made: pyproject.toml
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 11), "narrows needs Python 3.11 or later"'
	scripts/tools headers
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --group dev
	touch $@

.venv/.built: .venv/.made .venv/.features Cargo.toml Cargo.lock $(shell find crates -name '*.rs' -o -name '*.[ch]' -o -name Cargo.toml -o -name fingerprints.txt)
	PIP_QUIET=1 $(BIN)/maturin develop --release --quiet $(OF_PYTHON)
	touch $@

# A package of its own, which needs narrows.
.venv/.papers: papers/pyproject.toml | .venv/.built
	$(BIN)/pip install --quiet --no-deps --editable papers
	touch $@

# Stacks that others wrote draw from the run's seed what they would ask the system for.
OF_HOSTS := quick tls
HOSTS := RUSTFLAGS='--cfg getrandom_backend="custom"' CARGO_TARGET_DIR=target/hosts

# narrows with QUIC and TCP stacks that others wrote; `touch Cargo.toml` and `make setup` take them
# out again.
hosts: tools .venv/.made
	$(HOSTS) PIP_QUIET=1 $(BIN)/maturin develop --release --quiet $(OF_PYTHON) --features hosts
	touch .venv/.features .venv/.built

TEST_HOSTS := $(HOSTS) cargo test --quiet -p narrows-hosts -p narrows-adapters -p narrows-lab -p narrows-c \
	$(OF_HOSTS:%=--features narrows-hosts/%) --features narrows-adapters/hosted
test-hosts: setup
	$(TEST_HOSTS)
	# As a user has it: copied out.
	rm -rf target/stack-ci
	$(BIN)/narrows examples stack-ci --copy target/stack-ci >/dev/null
	cd target/stack-ci && CARGO_TARGET_DIR=$(CURDIR)/target/hosts cargo test --quiet

# s2n-quic's adapter, which compiles for minutes.
test-s2n:
	$(HOSTS) cargo test --quiet -p narrows-hosts --features s2n
	$(HOSTS) cargo test --quiet -p narrows-adapters --features hosted-s2n

# The wheel, in dist/, compiled for what runs of scripts/training.py do most, the source distribution
# and the papers; half an hour. `make test-wheel` installs them elsewhere and runs what they promise.
wheel: setup
	scripts/wheel

test-wheel:
	$(BIN)/python tests/wheel.py

# What a browser loads, built into the package; needs node.
playground: setup
	@if command -v npm >/dev/null; then scripts/playground; \
	else echo "left out the playground: there is no npm" >&2; fi

# docs/laws/responses, measured anew; two minutes.
responses: setup
	$(BIN)/python scripts/responses.py

# The site, into out/site: pages, reference, and the playground. A warning is an error, and each page
# is visited in a browser.
docs: playground
	@test -e python/narrows/page/index.html || { echo "the site needs npm, for its playground" >&2; exit 1; }
	$(BIN)/pip install --quiet --group docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going docs out/site
	rm -rf out/site/playground
	cp -r python/narrows/page out/site/playground
	cd web && node visit.mjs

# Whether addresses elsewhere that pages name still answer.
docs-links: playground
	$(BIN)/pip install --quiet --group docs
	$(BIN)/sphinx-build --quiet -b linkcheck docs out/links

# The simulator as WebAssembly against the native one, and the page in a real browser.
test-web: playground
	@if command -v npm >/dev/null; then \
		cargo build --quiet --profile test -p narrows-wasm --example fingerprints && cd web && \
		node --test --test-concurrency=1 --test-reporter=dot test/*.test.mjs; \
	else echo "left out the tests of the playground: there is no node" >&2; fi

# The page against its budgets of time and memory; a minute and a half.
bench-web: playground
	cd web && node bench.mjs

# Senders, receivers and links that have the general way only do what is kept.
general:
	RUSTFLAGS='--cfg general' CARGO_TARGET_DIR=target/general cargo test --release --quiet \
		-p narrows-scenario --test kept_texts

# What a stack's own tests take from a registry, as it would be published; minutes.
LAB := $(CORE) trace scenario hosts conform lab
# All crates but the extension of Python and the page's module, as a registry would build them, with
# the API that docs/api says.
package:
	scripts/api check
	cargo package --quiet --allow-dirty --workspace --exclude narrows-python --exclude narrows-wasm

# docs/api, the public API of each crate that is published.
api:
	scripts/api

# What can be built here for other machines: the simulator for aarch64 and for Windows, and the tests
# of its core for aarch64 where qemu-aarch64 runs them.
cross: tools
	scripts/cross

# The laws' programs for Linux's kernel, which are carried as objects; needs clang and llvm.
objects:
	NARROWS_OBJECTS=$(CURDIR)/crates/kernel/objects cargo build --quiet -p narrows-kernel --features bpf
	NARROWS_BLESS=1 cargo test --quiet -p narrows-kernel --test objects

# docs/stacks.md, measured anew where there is no kept run; minutes.
stacks: hosts
	$(BIN)/python validation/stacks.py

# docs/conformance.md, measured anew; two minutes.
conformance: hosts
	$(BIN)/python validation/conformance.py

# Written anew only if it has changed.
.venv/.features: .venv/.made FORCE
	@scripts/features why > $@.new
	@cmp -s $@.new $@ || cp $@.new $@
FORCE:

demo: setup
	$(BIN)/narrows demo -o out/demo --force

# The extension is linked by one core for minutes, in which the other begins to build the tests. Once
# it is there, tests of the front go on beside that. Those after it run alone: some are of real time.
# All of them run, so that one time tells all that fails.
test: tools .venv/.made
	$(MAKE) lint-format
	$(MAKE) -j2 --keep-going test-front built-tests; first=$$?; \
	$(MAKE) --keep-going test-rust test-hosts test-instructions test-web test-lab && exit $$first

built-tests: lint-rust test-core
	$(TEST_RUST) --no-run
	$(TEST_HOSTS) --no-run

lint: lint-format lint-rust lint-types

OF_FRONT := python papers tests benches validation docs scripts
lint-format: .venv/.made
	cargo fmt --check
	$(BIN)/ruff check --quiet $(OF_FRONT)
	$(BIN)/ruff format --check --quiet $(OF_FRONT)

lint-types: setup
	$(BIN)/mypy --no-error-summary

lint-rust: .venv/.features
	cargo clippy --workspace --all-targets --quiet $(OF_ALL) -- -D warnings
	RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
		cargo doc --quiet --workspace --exclude narrows-python $(OF_WORKSPACE) --no-deps --document-private-items
	cd validation/bbr && cargo check --quiet --locked

# The core has no clock, no randomness and no files of its own, so it builds for a target without
# them.
test-core: tools
	cargo build --quiet --target wasm32-unknown-unknown $(CORE:%=-p narrows-%)
	cargo build --quiet --target wasm32-unknown-unknown -p narrows-scenario --no-default-features

TEST_RUST = cargo test --workspace --exclude narrows-python --quiet --no-fail-fast $(OF_WORKSPACE)
test-rust:
	$(TEST_RUST)

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

LAB_TESTS := tests/python/test_lab.py
test-front: playground lint-types
	$(BIN)/pytest --ignore $(LAB_TESTS)

# In real time, where the machine can.
test-lab: setup
	$(BIN)/pytest $(LAB_TESTS)

# Searches for new cases, a hundred times as many as `make test` tries, which are the same each time.
# NARROWS_CASES=1000000 says how many, PROPTEST_RNG_SEED=… repeats a search; what it finds is written
# to proptest-regressions, to be kept.
properties: export NARROWS_CASES ?= 1000000
properties: export PROPTEST_RNG_SEED ?= $(shell od -An -N7 -tu8 /dev/urandom | tr -d ' ')
properties:
	@echo "PROPTEST_RNG_SEED=$(PROPTEST_RNG_SEED)"
	cargo test --release -p narrows-transport --test properties
	NARROWS_CASES=100000 cargo test --release -p narrows-sim --test dumbbell rules

# Small changes of the laws and the transport that no test notices, listed in
# out/mutants.out/missed.txt. FILE=crates/control/src/laws/cubic.rs takes the changes of one file.
mutants: export NARROWS_CASES ?= 1000
mutants: export CARGO_PROFILE_TEST_DEBUG = 0
mutants:
	scripts/tools cargo-mutants
	mkdir -p out
	cargo mutants -j1 -p narrows-control -p narrows-transport $(FILE:%=--file %) -o out

# Looks for texts and acknowledgements that break what fuzz/src/lib.rs says, FUZZ seconds for each
# target. What it finds is written to fuzz/artifacts; put it into fuzz/corpus once it is mended.
FUZZ ?= 300
fuzz:
	scripts/tools cargo-fuzz
	cargo +nightly fuzz run scenario fuzz/corpus/scenario examples -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run cc fuzz/corpus/cc -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run queue fuzz/corpus/queue -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run sack fuzz/corpus/sack -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run trace fuzz/corpus/trace -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run capture fuzz/corpus/capture -- -max_total_time=$(FUZZ)
	cargo +nightly fuzz run course fuzz/corpus/course -- -max_total_time=$(FUZZ)

bench: setup
	cargo bench --quiet -p narrows-scenario --bench speed
	$(BIN)/python benches/sweeps.py
	$(BIN)/python benches/controller.py
	$(BIN)/python benches/learning.py

validate: setup
	$(BIN)/python validation/validate.py

# This machine's kernel beside the simulator, in real time: some 25 minutes, as root, with nothing
# else running. Writes docs/validation-real.md.
validate-real: setup
	$(BIN)/python validation/real.py

# Our BBR and noq-proto's on the same paths, packet by packet; what else it shows is in
# validation/bbr/src/main.rs: WHAT="rounds too-high", for example.
compare-bbr:
	cd validation/bbr && cargo run --release --quiet -- $(WHAT)

clean:
	rm -rf target .venv out dist web/node_modules web/pkg web/node python/narrows/page
