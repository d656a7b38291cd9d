# Belfry's commands. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help deps program build test check demo bench bench-smoke bench-sandbox bench-badtokens bench-tokens \
    bench-isolation bench-http2 bench-scaling bench-hostile bench-publish bench-lanes chaos soak simulate fuzz lint \
    schema-check deploy-check sbom package image generate clean

# One configuration serves tests and runs, so that nothing is compiled twice and what is tested is what runs.
JOBS ?= 2
SWIFT_FLAGS := -c release -j $(JOBS) -Xswiftc -enable-testing --explicit-target-dependency-import-check error
BIN := .build/release

# Tools that tests and linters run, at the versions Deploy/python-tools.txt pins.
export BELFRY_TEST_PYTHON := $(CURDIR)/.venv/bin/python
export BELFRY_TEST_BROKER_COMMAND := $(CURDIR)/.venv/bin/noida-db

# Servers to use instead of those that `demo`, `bench` and `bench-lanes` start themselves.
KAFKA ?=
REDIS ?=
# More arguments for the program, for instance ARGS="--rounds 1".
ARGS ?=
# The target that `make check` builds and tests.
TARGET ?=
# Only tests whose name matches, for instance FILTER=KafkaClientTests.
FILTER ?=
# The number of worlds to simulate, and the first one's seed.
SEEDS ?= 10000
SEED ?=
# The time to fuzz, shared by the targets.
SECONDS ?= 60
# The time to soak.
MINUTES ?= 10

# Settings of one command stay out of the environment: a build plans everything anew when that differs from the last.
unexport MAKEFLAGS MFLAGS MAKEOVERRIDES JOBS KAFKA REDIS ARGS TARGET FILTER SEEDS SEED SECONDS MINUTES

help: ## list the commands
	@echo 'make COMMAND, one of:'
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-17s%s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))
	@echo 'demo, bench and bench-lanes take KAFKA=host:port, demo also REDIS=url; all of them, bench-sandbox,'
	@echo 'bench-badtokens, bench-tokens, bench-isolation, bench-hostile, bench-http2, bench-publish and chaos'
	@echo 'ARGS="…"; test and check take FILTER=name,'
	@echo 'check TARGET=name, fuzz SECONDS=n, simulate SEEDS=n SEED=s, soak MINUTES=n'

deps: ## install what is missing (Debian packages, .venv) and say what
	@Deploy/dependencies.sh

# A dependency does not declare all of its files. Nobody here can mend that, so nobody need read it.
UNDECLARED := /unhandled; explicitly declare/ { hides = 1; next } hides && /^ / { next } { hides = 0; print }
run_build = @echo 'swift build $(1)'; swift build $(1) 2> >(awk '$(UNDECLARED)' >&2)
build = $(call run_build,$(SWIFT_FLAGS) $(1))

# In a checkout the build tool plans twice, in its first build and in its second, and with each plan it compiles a
# dependency anew. So the first one is of next to nothing.
.build/release.yaml: | deps
	@echo 'the first build: about 13 minutes on two idle cores for everything, 6 for the program alone'
	$(call build,--target BenchmarkCommon)

# Asking the build tool whether there is something to do takes it half a minute: the files' ages tell as well. The age
# of a folder tells that a file of it is gone.
MANIFEST := Package.swift Makefile
PROGRAM_FILES := $(shell find Sources -type f,d)
# Tests/ProducerPackage is no target of ours, and building it leaves files there.
ALL_FILES := $(PROGRAM_FILES) $(shell find Tests -path Tests/ProducerPackage -prune -o -type f,d -print)
FUZZ_FILES := $(PROGRAM_FILES) $(shell find Tests/Fuzz -path Tests/Fuzz/Corpus -prune -o -type f,d -print)

.build/program.built: $(MANIFEST) $(PROGRAM_FILES) | deps .build/release.yaml
	$(call build,--product belfry)
	@touch $@

# The test bundle is made of everything, and of nothing else: --build-tests also builds the programs of our
# dependencies, protoc in C++ among them, which are four fifths of all files.
.build/all.built: $(MANIFEST) $(ALL_FILES) | deps .build/release.yaml
	$(call build,--product belfryPackageTests)
	@touch .build/program.built $@

program: .build/program.built ## build the program alone
build: .build/all.built ## build everything, tests and benchmarks included

test: build ## run all tests
	@Tests/run.sh $(BIN)/belfryPackageTests.xctest '$(FILTER)'

# Debug builds are incremental by file. The scratch path is of its own: a build of another kind plans everything anew.
CHECK_BUILD := .build-check
check: deps ## build and test TARGET=name alone, with what it stands on: after a change of a rule
	@test -n '$(TARGET)' || { echo 'make check TARGET=name: a target of Package.swift, for instance PipelineCore' >&2; exit 1; }
	@export BELFRY_CHECK='$(TARGET)'; swift build --scratch-path $(CHECK_BUILD) -j $(JOBS) \
	    -debug-info-format none --product belfryPackageTests 2> >(awk '$(UNDECLARED)' >&2)
	@mkdir -p .build
	@Tests/run.sh $(CHECK_BUILD)/debug/belfryPackageTests.xctest '$(FILTER)'

demo: program ## run the whole story from Kafka to a device and back, and check the books
	@$(BIN)/belfry demo $(if $(KAFKA),--kafka '$(KAFKA)') $(if $(REDIS),--redis '$(REDIS)') $(ARGS)

# The library counts a program's allocations.
ALLOCATIONS := $(BIN)/belfry-bench-allocations.so
$(ALLOCATIONS): Tests/Benchmarks/Allocations/allocations.c | build
	@clang -O2 -Wall -Wextra -Werror -shared -fPIC -o $@ $<

# And this one lets callgrind run a program that waits in libdispatch.
SUSPEND := $(BIN)/belfry-bench-suspend.so
$(SUSPEND): Tests/Benchmarks/Suspend/suspend.c | build
	@clang -O2 -Wall -Wextra -Werror -shared -fPIC -o $@ $<

# All that is measured of worker and registrar; with ARGS one scenario, `worker` where they name none.
bench: build $(ALLOCATIONS) $(SUSPEND) ## measure worker and registrar against their floors in C, in all scenarios
	@$(BIN)/belfry-bench run $(if $(ARGS)$(KAFKA),$(ARGS) $(if $(KAFKA),--kafka '$(KAFKA)'), \
	    worker latency registrar scaling)

bench-smoke: build $(ALLOCATIONS) ## run shortened benchmarks: nothing may be lost or repeated, and times are not judged
	@$(BIN)/belfry-bench smoke

bench-sandbox: build ## measure the sandbox against a raw TLS sink in C
	@$(BIN)/belfry-bench run sandbox $(ARGS)

bench-badtokens: build ## measure what invalid tokens among good ones cost a worker
	@$(BIN)/belfry-bench run badtokens $(ARGS)

bench-tokens: build ## measure the token state: memory, look-ups, sending with the filter
	@$(BIN)/belfry-bench run tokens $(ARGS)

bench-isolation: build ## measure whether one sick app harms a healthy one
	@$(BIN)/belfry-bench run isolation $(ARGS)

bench-scaling: build ## measure what an app feels of workers that come and go, from one to four and back
	@$(BIN)/belfry-bench run isolation --scaling $(ARGS)

bench-hostile: build ## measure how long hostile records hold a worker, and how much of its memory it counts
	@$(BIN)/belfry-bench run hostile $(ARGS)

# h2load knows no client certificates; the library gives it one.
IDENTITY := $(BIN)/belfry-bench-identity.so
$(IDENTITY): Tests/Benchmarks/Identity/identity.c | build
	@clang -O2 -Wall -Wextra -Werror -shared -fPIC -o $@ $<

bench-http2: build $(IDENTITY) ## measure a worker over HTTP/2 against h2load, and the sandbox against nghttpd
	@$(BIN)/belfry-bench run http2 $(ARGS)

bench-publish: build ## measure belfry publish against a bare loop in C, and a worker in many languages
	@$(BIN)/belfry-bench run publish $(ARGS)

bench-lanes: build ## measure whether urgent notifications overtake a backlog of their app in bulk, and what bulk keeps
	@$(BIN)/belfry-bench run lanes $(ARGS) $(if $(KAFKA),--kafka '$(KAFKA)')

chaos: build ## break the pipeline's processes for five minutes and prove that nothing is lost
	@$(BIN)/belfry-chaos $(ARGS)

soak: build ## run the pipeline undisturbed for MINUTES=10 and prove that memory stays flat and nothing is lost
	@$(BIN)/belfry-chaos --soak --seconds $$(($(MINUTES) * 60)) --rate 5000 $(ARGS)

simulate: build ## run sender and appliers in simulated worlds under faults, SEEDS=n of the sender, from SEED=s on
	@$(BIN)/belfry-simulate --seeds $(SEEDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

# A build of its own: everything is instrumented, the packages that it stands on too.
FUZZ_BUILD := .build-fuzz
FUZZ_FLAGS := --scratch-path $(FUZZ_BUILD) -Xswiftc -sanitize=fuzzer,address -Xswiftc -DFUZZING
$(FUZZ_BUILD)/fuzz.built: $(MANIFEST) $(FUZZ_FILES) | deps
	$(call build,$(FUZZ_FLAGS) --product belfry-fuzz)
	@touch $@

fuzz: $(FUZZ_BUILD)/fuzz.built ## fuzz what reads the bytes of peers, for SECONDS=60, with the address sanitizer
	@Tests/Fuzz/run.sh $(FUZZ_BUILD) $(SECONDS)

lint: deps ## check format, scripts, YAML, Dockerfile, compose file and house rules
	@.ci/lint

schema-check: deps ## check messages, compatibility, AsyncAPI document and examples of Schemas
	@.ci/schema-check

deploy-check: deps ## check what lies in Deploy: alerts, dashboards, runbook, Kubernetes, Helm, KEDA, systemd
	@.ci/deploy-check

sbom: deps ## write .build/belfry.spdx.json (SPDX): the packages and licences that the program is made of
	@mkdir -p .build
	@.venv/bin/python -B .ci/sbom.py .build/belfry.spdx.json

package: deps sbom ## make a Debian package and a tarball of the program, with checksums, in .build/package
	@rm -rf .build/package
	@Deploy/package/build.sh .build/package
	@cp .build/belfry.spdx.json .build/package
	@cd .build/package && sha256sum belfry* >SHA256SUMS && cat SHA256SUMS

image: ## make an image of the Debian package, with docker
	@docker build --file Deploy/Dockerfile --build-arg SOURCE_DATE_EPOCH="$$(git log -1 --format=%ct)" --tag belfry .

generate: ## generate the Protobuf code in Sources from Schemas (needs protoc)
	@Schemas/generate.sh

clean: ## remove what was built; .venv stays
	rm -rf .build .build-check .build-fuzz .build-package .build-producer Tests/ProducerPackage/Package.resolved
