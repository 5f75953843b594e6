# Everything a person does with this repository. Each target first installs what it needs and finds missing.

.DEFAULT_GOAL := help
.PHONY: serve demo test check bench stack-test sanitize help build-tests need-build need-run need-demo need-clients need-bench

SWIFT := .ci/swift
RELEASE := -c release --static-swift-stdlib
BIN := .build/release
# Without a limit all tests start at once, and each takes as long as all of them: whatever has a deadline may miss it.
TESTS_AT_ONCE ?= 8
# The engine client of `make stack-test`, in as many words as it takes.
DOCKER ?= docker

serve: need-run ## build for release and run server and worker on http://127.0.0.1:8080 (GitHub as upstream; data in .magpie)
	@echo "building magpie for release"
	@$(SWIFT) build $(RELEASE) --product magpie
	@[ -n "$$MAGPIE_DATA$$DATABASE_URL" ] || .ci/data-directory
	@MAGPIE_SIGNUP=$${MAGPIE_SIGNUP:-open} exec $(BIN)/magpie serve

demo: need-demo ## the same against a simulated GitHub, with an account and a follower list that changes: no internet, no keys
	@echo "building magpie and upstream-simulator for release"
	@$(SWIFT) build $(RELEASE) --product magpie
	@$(SWIFT) build $(RELEASE) --product upstream-simulator
	@[ -n "$$MAGPIE_DATA" ] || .ci/data-directory
	@exec .ci/demo $(BIN)

test: need-run ## every test: unit, integration on a throw-away PostgreSQL, black-box on the built binary
	@$(MAKE) --no-print-directory -j2 need-clients build-tests
	@SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=$(TESTS_AT_ONCE) $(SWIFT) test --skip-build --disable-xctest

# Beside the clients: their installer mostly waits for the network.
build-tests:
	@echo "building everything for testing"
	@.ci/build-tests

check: need-run ## format and lint, shell scripts, links in the docs, OpenAPI against the routes, SQL contract
	@.ci/check

bench: need-bench ## the benchmarks with their peers, as ratios in one run (see Benchmarks/README.md)
	@echo "building magpie and upstream-simulator for release"
	@$(SWIFT) build $(RELEASE) --product magpie
	@$(SWIFT) build $(RELEASE) --product upstream-simulator
	@$(SWIFT) build $(RELEASE) --product queue-benchmark
	@.ci/with-postgres $(VENV)/bin/python Benchmarks/run.py --bin $(BIN) $(BENCH)

stack-test: ## the integration tests against `docker compose up`, with api and postgres killed and started meanwhile
	@DOCKER="$(DOCKER)" .ci/stack-test

sanitize: need-run ## thread sanitizer and address sanitizer on everything below the domain
	@.ci/sanitize

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# First what the Swift toolchain itself stands on: its archive brings no linker, no C headers and not all of its libraries.
need-build:
	@.ci/packages 'libncurses6:/usr/lib/*/libncurses.so.6' 'libxml2:/usr/lib/*/libxml2.so.2' \
	  'libsqlite3-0:/usr/lib/*/libsqlite3.so.0' libc6-dev:/usr/include/stdio.h 'g++:/usr/lib/gcc/*/*/libstdc++.so' \
	  pkg-config:/usr/bin/pkg-config libpq-dev:/usr/include/postgresql/libpq-fe.h \
	  libcurl4-openssl-dev:/usr/include/*/curl/curl.h libssl-dev:/usr/include/openssl/evp.h \
	  zlib1g-dev:/usr/include/zlib.h

# The server binaries and psql. Debian's own cluster, which the package may start, is never used: Magpie keeps a private one.
need-run: need-build
	@.ci/packages ca-certificates 'postgresql:/usr/lib/postgresql/*/bin/initdb' postgresql-client:/usr/bin/psql

# GitHub clients from PyPI, which the tests let loose on Magpie as they are.
CLIENTS := Tests/Clients/.venv
need-clients:
	@.ci/packages python3-venv
	@$(MAKE) --no-print-directory $(CLIENTS)/installed

$(CLIENTS)/installed: Tests/Clients/requirements.txt
	@echo "installing GitHub clients from PyPI into $(CLIENTS)"
	@python3 -m venv $(CLIENTS)
	@$(CLIENTS)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@

need-demo: need-run
	@.ci/packages curl:/usr/bin/curl

need-bench: need-run
	@.ci/packages wrk:/usr/bin/wrk nginx-light:/usr/sbin/nginx 'postgresql-contrib:/usr/lib/postgresql/*/bin/pgbench' \
	  python3-venv
	@$(MAKE) --no-print-directory $(VENV)/installed

# What the Python peers need, from PyPI, in an environment of its own.
VENV := Benchmarks/.venv
$(VENV)/installed: Benchmarks/peers/requirements.txt
	@echo "installing the benchmark's peers from PyPI into $(VENV)"
	@python3 -m venv $(VENV)
	@$(VENV)/bin/pip install -q --disable-pip-version-check -r $<
	@touch $@
