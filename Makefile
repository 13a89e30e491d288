# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
#   make demo     an old store is refused, migrated and read, in half a minute (after the build)
#   make test     all tests
#   make lint     formatting and house rules
#   make format   rewrites the sources as `make lint` wants them
#   make build    the library and the command

SHELL := /bin/bash

# Where SwiftPM puts what it builds; the example shares it, so that nothing is compiled twice.
SCRATCH ?= .build
BUILD_FLAGS := --scratch-path $(SCRATCH)
ifeq ($(CI),true)
BUILD_FLAGS += -Xswiftc -warnings-as-errors
endif

FORMATTED := Package.swift $(wildcard Sources Tests Examples Benchmarks)

.PHONY: build demo test lint format libraries

build: libraries
	swift build $(BUILD_FLAGS)

demo: libraries
	@Examples/Done/demo.sh $(BUILD_FLAGS)

test: libraries
	swift test --disable-xctest $(BUILD_FLAGS)

lint:
	swift format lint --strict --recursive --parallel $(FORMATTED)
	@Scripts/house-rules.sh

format:
	swift format --in-place --recursive --parallel $(FORMATTED)

# SQLite and zlib with their headers; installed where apt-get can do it, else named.
libraries:
	@Scripts/system-libraries.sh
