# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
#   make demo     an old store is refused, migrated and read, in half a minute (after the build)
#   make test     all tests, and the examples that find their model and migrate by a policy
#   make lint     formatting and house rules
#   make format   rewrites the sources as `make lint` wants them
#   make build    the library and the command
#   make torture  kills 1,000 processes at different moments, and has every call of the file system fail, for each way to
#                 change a store as a whole (migration in place, by mapping model, by policy, over three steps, with external
#                 data, with a log, without one, over a link; setting aside, restoring, replacing, destroying; backups
#                 that are made and restored), has one process write while another migrates, has eight migrate at once,
#                 and stops them by TERM and INT; a quarter of an hour on two cores;
#                 COREDATA_TORTURE_CASES=inPlace,hotLog names those that are wanted (TortureCase)
#   make bench    speed and memory against the same work written by hand; BENCH="--notes 100000" for other arguments

SHELL := /bin/bash

# Where SwiftPM puts what it builds. Each example has a place of its own: SwiftPM's plan of a build belongs to one package.
SCRATCH ?= .build
BUILD_FLAGS :=
ifeq ($(CI),true)
BUILD_FLAGS += -Xswiftc -warnings-as-errors
endif

FORMATTED := Package.swift $(wildcard Sources Tests Examples Benchmarks)

.PHONY: build demo test lint format bench torture libraries

build: libraries
	swift build --scratch-path $(SCRATCH) $(BUILD_FLAGS)

demo: libraries
	@Examples/Done/demo.sh --scratch-path $(abspath $(SCRATCH))/example $(BUILD_FLAGS)

test: libraries
	swift test --disable-xctest --scratch-path $(SCRATCH) $(BUILD_FLAGS)
	@Examples/Finding/check.sh --scratch-path $(abspath $(SCRATCH))/finding $(BUILD_FLAGS)
	@Examples/Splitting/check.sh --scratch-path $(abspath $(SCRATCH))/splitting $(BUILD_FLAGS)

# BENCH holds the arguments of the program; Benchmarks/README.md has them.
BENCH ?=
bench: libraries
	swift run -c release --package-path Benchmarks --scratch-path $(abspath $(SCRATCH))/benchmarks Benchmarks $(BENCH)

torture: libraries
	COREDATA_TORTURE=full COREDATA_KILLS=1000 swift test --disable-xctest --scratch-path $(SCRATCH) $(BUILD_FLAGS) \
	  --filter 'TortureTests|MigrationKillTests|ProcessTests'

lint:
	swift format lint --strict --recursive --parallel $(FORMATTED)
	@Scripts/house-rules.sh

format:
	swift format --in-place --recursive --parallel $(FORMATTED)

# SQLite and zlib with their headers; installed where apt-get can do it, else named.
libraries:
	@Scripts/system-libraries.sh
