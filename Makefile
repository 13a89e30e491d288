# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
#   make demo     an old store is refused, migrated and read, in half a minute (after the build)
#   make test     all tests, and the examples that find their model, migrate by a policy, list what is imported, and run
#                 an app's model layer unchanged, and migrate SwiftData's models; stores for Apple's framework are written, read and damaged (Conformance); the
#                 Swift blocks of the pages are compiled (Tests/Documents)
#   make static   the demonstration and a round trip with programs linked with --static-swift-stdlib, as tools are shipped
#   make docs     the guides and the reference as a site in .build/docs/site, with the toolchain's docc
#   make install  the tool with its manual page and the completions of bash, zsh and fish below PREFIX (/usr/local); Swift's
#                 runtime, SQLite and zlib are linked into it
#   make dist     the same as a .tar.gz and a .deb in .build/dist/packages, for the repository that Scripts/project.env names;
#                 `make dist-check` installs them in a bare Debian without Swift, and uses them there
#   make release  the files of a release in .build/release: the packages, the sources, what is linked in (SBOM), the notes, and
#                 checksums; says which tag to set
#   make lint     formatting and house rules
#   make format   rewrites the sources as `make lint` wants them
#   make build    the library and the command
#   make torture  kills 1,000 processes at different moments, and has every call of the file system fail, for each way to
#                 change a store as a whole (migration in place, by mapping model, by policy, over three steps, with external
#                 data, with a log, without one, over a link; setting aside, restoring, replacing, destroying; backups
#                 that are made and restored), has one process write while another migrates, has eight migrate at once,
#                 and stops them by TERM and INT; with all random predicates, requests, edits, models and damaged model files,
#                 of which `make test` tries some; an hour on two idle cores;
#                 COREDATA_TORTURE_CASES=inPlace,hotLog names those that are wanted (TortureCase)
#   make fuzz     gives hostile models, mapping models, stores, journals and predicates to everything that reads them:
#                 1,000,000 inputs, half an hour on two cores; FUZZ="--kind store --seed 7 --count 1" for others
#                 (Tests/Fuzzing/README.md). `make fuzz-fixed` is a fixed part of them, a minute after the build, and
#                 `make fuzz-debug` 1,800 of those in a debug build
#   make sanitize address, undefined-behaviour and thread sanitizers over what reads files, over 1,800 hostile inputs, and
#                 over what threads share; `make sanitize-all` has the address sanitizer over every test, half an hour on two
#                 cores, and `make sanitize-threads-all` the thread sanitizer
#   make release-check   before a version is tagged: both sanitizers over all tests, `make torture`, `make fuzz`, and the oldest Swift
#                 (Scripts/other-swift.sh); hours on two cores. CHECKS="torture fuzz" names some; `Scripts/release-check.sh report --write` puts their figures into
#                 Documentation/Reliability.md
#   make servers  the suites of stores in PostgreSQL with other settings, with ICU's collations, behind PgBouncer, and with each
#                 installed version of PostgreSQL; NEWER=yes also with PostgreSQL 17, in a bare Debian 13 of its own (needs root)
#   make servers-faults   processes that save to a server whose connections end, are cut in COMMIT, are pooled or too few, that restarts,
#                 or whose store is migrated (Tests/Servers/README.md): nothing is lost, doubled or reported wrongly; two hours
#   make generated MODELS=DIR   generates the classes of all models below a directory, compiles them, and writes and reads each
#                 property through a store
#   make pages    looks at the tool's HTML pages in Chromium, which is installed where apt-get can; PICTURES=Documentation/pictures
#                 takes the README's pictures anew
#   make bench    speed and memory against the same work written by hand; BENCH="--notes 100000" for other arguments

SHELL := /bin/bash

# Where SwiftPM puts what it builds.
SCRATCH ?= .build
BUILD_FLAGS :=
ifeq ($(CI),true)
BUILD_FLAGS += -Xswiftc -warnings-as-errors
endif

# Lets a library that --policies loads use the classes of CoreData in the tool.
EXPORTS := -Xlinker --export-dynamic

# For the examples. With the place and the flags of the package itself, the library and the tool are built once.
EXAMPLES := --scratch-path $(abspath $(SCRATCH)) $(BUILD_FLAGS) $(EXPORTS)

# Examples/Moved holds the sources of an app, which follow another style.
FORMATTED := Package.swift $(wildcard Sources Plugins Tests Benchmarks Conformance) $(filter-out Examples/Moved,$(wildcard Examples/*)) \
  $(wildcard Examples/Moved/*.swift Examples/Moved/Sources/orders)

.PHONY: build demo test tests pages generated lint format bench torture static fuzz fuzz-fixed sanitize sanitize-files sanitize-threads libraries \
  static-libraries

build: libraries
	swift build --scratch-path $(SCRATCH) $(BUILD_FLAGS) $(EXPORTS)

demo: libraries
	@Examples/Done/demo.sh $(EXAMPLES)
	@printf '\nThe same for models of SwiftData: stores of three versions of Examples/Trips.\n'
	@Examples/Trips/check.sh $(EXAMPLES)

test: libraries
	@Scripts/postgresql.sh install
	@Scripts/with-temporary-directory.sh $(MAKE) --no-print-directory tests

# Removes the resources of examples: the framework finds models in all resource bundles beside a program, so also beside the tests.
FORGET_EXAMPLES = if [ -d $(abspath $(SCRATCH))/debug ]; then \
  find $(abspath $(SCRATCH))/debug/ -maxdepth 1 -name '*.resources' ! -name 'OpenCoreData_*' -exec rm -r {} +; fi

# What `make test` runs, with the temporary directory of the caller.
tests:
	@$(FORGET_EXAMPLES)
	@Scripts/test.sh --disable-xctest --scratch-path $(abspath $(SCRATCH)) $(BUILD_FLAGS) $(EXPORTS)
	@Tests/Documents/check.sh $(abspath $(SCRATCH))/debug/Modules
	@Examples/Finding/check.sh $(EXAMPLES)
	@COREDATA=$(abspath $(SCRATCH))/debug/coredata Examples/Splitting/check.sh $(EXAMPLES)
	@Examples/Shelf/check.sh $(EXAMPLES)
	@COREDATA=$(abspath $(SCRATCH))/debug/coredata Examples/Trips/check.sh $(EXAMPLES)
	@COREDATA=$(abspath $(SCRATCH))/debug/coredata Examples/Moved/check.sh --scratch-path $(abspath $(SCRATCH))/moved
	@EXCHANGE=$(abspath $(SCRATCH))/debug/ConformanceExchange Conformance/check.sh
	@Scripts/corpus-check.sh
	@$(FORGET_EXAMPLES)

generated: build
	@Tests/GeneratedClasses/check.sh "$(MODELS)" $(abspath $(SCRATCH))

PICTURES ?=
pages: libraries
	swift build --scratch-path $(SCRATCH) $(BUILD_FLAGS) $(EXPORTS) --product coredata
	@Tests/Pages/check.sh $(abspath $(SCRATCH))/debug/coredata $(PICTURES)

static: static-libraries
	@Examples/Static/check.sh --scratch-path $(abspath $(SCRATCH))/static $(BUILD_FLAGS)

# The symbols are those of a build of its own, because a build for tests keeps none.
.PHONY: docs
DOCS := $(abspath $(SCRATCH))/docs
docs: libraries
	@Scripts/docs.sh $(DOCS) $(BUILD_FLAGS)

# The tool as it is shipped.
DIST := $(abspath $(SCRATCH))/dist
TOOL := $(DIST)/release/coredata
PREFIX ?= /usr/local
.PHONY: tool install dist dist-check release
tool: static-libraries
	@Scripts/archives.sh $(DIST)/archives
	PKG_CONFIG_PATH=$(DIST)/archives swift build -c release --static-swift-stdlib --scratch-path $(DIST) $(BUILD_FLAGS) \
	  --product coredata -Xlinker -s -Xlinker --disable-new-dtags -Xlinker -rpath -Xlinker '$$ORIGIN/../lib/coredata'

install:
	@Scripts/package.sh check-prefix "$(DESTDIR)$(PREFIX)"
	@$(MAKE) --no-print-directory tool
	@Scripts/package.sh install $(TOOL) $(PREFIX)

# What cannot be made is refused before the build, which takes a quarter of an hour.
dist:
	@Scripts/project.sh check
	@Scripts/package.sh check
	@$(MAKE) --no-print-directory tool
	@Scripts/package.sh dist $(TOOL) $(DIST)/packages

dist-check: dist
	@Scripts/package-check.sh $(DIST)/packages

release:
	@Scripts/release.sh check
	@$(MAKE) --no-print-directory dist
	@Scripts/release.sh make $(TOOL) $(DIST) $(abspath $(SCRATCH))/release

# BENCH holds the arguments of the program; Benchmarks/README.md has them.
BENCH ?=
bench: libraries
	export COREDATA_OPTIMIZATION_SWITCHES=yes; \
	swift build -c release --package-path Benchmarks --scratch-path $(abspath $(SCRATCH))/benchmarks --product coredata && \
	swift run -c release --package-path Benchmarks --scratch-path $(abspath $(SCRATCH))/benchmarks Benchmarks $(BENCH)

# What tries random input, and servers at many moments, of which `make test` has a part (TortureSize).
RANDOM_SUITES := (Predicate|Dictionary)DifferentialTests|(Conflict|ContextTree|ObjectGraph|Undo|FetchedResults)ModelTests|Generated.*Tests|CopyEngineTests|FixtureMigrationTests|RollingDeploymentTests|PendingDifferentialTests|StoreKindModelTests|ForeignSchemaTests|StoreCopyTests
SERVER_SUITES := CoreDataPostgreSQLTests\.(InterruptedCopy|Migration|SaveFault)Tests
torture: libraries
	COREDATA_TORTURE=full COREDATA_KILLS=1000 swift test --disable-xctest --scratch-path $(SCRATCH) $(BUILD_FLAGS) \
	  --filter 'TortureTests|MigrationKillTests|ProcessTests|ManyWritersTests|Mutation.*Tests|CoreDataTests\.($(RANDOM_SUITES))/|$(SERVER_SUITES)/|SwiftDataTests\.DifferentialTests'

# FUZZ holds the arguments of the program; Tests/Fuzzing/README.md has them.
FUZZ ?=
FUZZ_SCRATCH := $(abspath $(SCRATCH))/fuzz-release
FUZZING := $(FUZZ_SCRATCH)/release/Fuzzing --output $(abspath $(SCRATCH))/fuzz

build-fuzz: libraries
	swift build -c release --scratch-path $(FUZZ_SCRATCH) $(BUILD_FLAGS) --product Fuzzing
	swift build -c release --scratch-path $(FUZZ_SCRATCH) $(BUILD_FLAGS) --product coredata

fuzz: build-fuzz
	$(FUZZING) $(FUZZ)

fuzz-fixed: build-fuzz
	$(FUZZING) --fixed

# With the program that is built beside the tests.
.PHONY: fuzz-debug
fuzz-debug: libraries
	swift build --scratch-path $(SCRATCH) $(BUILD_FLAGS) $(EXPORTS) --build-tests
	$(SCRATCH)/debug/Fuzzing --fixed --count 100 --output $(abspath $(SCRATCH))/fuzz-debug

# Each sanitizer needs a build of its own. Swift's runtime keeps what it has allocated for types, which is no leak. Swift has
# no undefined-behaviour sanitizer on Linux (its own checks stop the program); the C sources are built with Clang's.
sanitize: sanitize-files sanitize-threads

FILE_SUITES := CoreDataFileSystemTests|CoreDataModelFilesTests|CoreDataSQLiteTests|CoreDataPredicatesTests|CoreDataTests.Store
C_CHECKS := -Xcc -fsanitize=undefined -Xcc -fsanitize-trap=undefined
sanitize-files: libraries
	swift build --build-tests --sanitize address $(C_CHECKS) --scratch-path $(SCRATCH)/sanitize-files $(BUILD_FLAGS)
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 swift test --skip-build \
	  --disable-xctest --sanitize address $(C_CHECKS) --scratch-path $(SCRATCH)/sanitize-files \
	  --filter '$(FILE_SUITES)'
	ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 COREDATA_FUZZ_SANITIZED=yes \
	  $(SCRATCH)/sanitize-files/debug/Fuzzing --fixed --count 100 --output $(abspath $(SCRATCH))/fuzz-sanitized

# Tests that all begin at once take more memory than there is under the sanitizer, and none ends. Needs Swift 6.3. The calls
# of deeply nested predicates need several times the stack that they need without it.
.PHONY: sanitize-all
sanitize-all: libraries
	swift build --build-tests --sanitize address $(C_CHECKS) --scratch-path $(SCRATCH)/sanitize-files $(BUILD_FLAGS)
	ulimit -s 65536 && ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 swift test --skip-build \
	  --disable-xctest --sanitize address $(C_CHECKS) --scratch-path $(SCRATCH)/sanitize-files \
	  --experimental-maximum-parallelization-width 2

THREAD_SUITES := CoreDataTests.*(ThreadTests|RegistryTests|ReadingConnection|Context|Coordinator|Container|Saving|Fetch|Moving|Merging|MigrationPolicy|ManyRows|Checkpoint|StoreIntegrity|PackedChange)|CoreDataFileSystemTests.ParallelValues|CoreDataPostgreSQLTests.(FaultTests|StoreTests)
sanitize-threads: libraries
	swift build --build-tests --sanitize thread --scratch-path $(SCRATCH)/sanitize-threads $(BUILD_FLAGS)
	TSAN_OPTIONS="halt_on_error=1 suppressions=$(abspath Scripts/thread-sanitizer.suppressions)" \
	  swift test --skip-build --disable-xctest --sanitize thread --scratch-path $(SCRATCH)/sanitize-threads \
	  --filter '$(THREAD_SUITES)'

# As with sanitize-all, few tests at a time. A race does not stop the run: it is told, and the run ends with status 66. One
# test limits the size of files (`ulimit -f`), and the sanitizer maps larger ones.
.PHONY: sanitize-threads-all
sanitize-threads-all: libraries
	swift build --build-tests --sanitize thread --scratch-path $(SCRATCH)/sanitize-threads $(BUILD_FLAGS)
	ulimit -s 65536 && TSAN_OPTIONS="halt_on_error=0 suppressions=$(abspath Scripts/thread-sanitizer.suppressions)" \
	  swift test --skip-build --disable-xctest --sanitize thread --scratch-path $(SCRATCH)/sanitize-threads \
	  --skip 'FullDiskImportTests/full\(' --experimental-maximum-parallelization-width 2

.PHONY: servers
servers: libraries
	@Scripts/postgresql.sh install
	swift build --build-tests --scratch-path $(SCRATCH) $(BUILD_FLAGS) $(EXPORTS)
	@Scripts/postgresql.sh suites swift test --skip-build --disable-xctest --scratch-path $(SCRATCH) --filter CoreDataPostgreSQLTests

# FAULTS names some of the programs; FAULTS_SHORT=yes runs them with small numbers.
.PHONY: servers-faults
FAULTS ?=
FAULTS_SHORT ?=
servers-faults: libraries
	@Scripts/postgresql.sh install
	swift build --scratch-path $(SCRATCH) $(BUILD_FLAGS) $(EXPORTS) --product ServerFaults
	@SHORT=$(FAULTS_SHORT) Tests/Servers/run.sh $(abspath $(SCRATCH))/debug/ServerFaults $(FAULTS)

# CHECKS names some of address, threads, torture and fuzz; all without it.
CHECKS ?=
.PHONY: other-swift
other-swift:
	@Scripts/other-swift.sh

.PHONY: release-check
release-check:
	@Scripts/release-check.sh run $(CHECKS)

lint:
	swift format lint --strict --recursive --parallel $(FORMATTED)
	@Scripts/house-rules.sh
	@Scripts/rooms.sh
	@Scripts/libpq-check.sh

format:
	swift format --in-place --recursive --parallel $(FORMATTED)

# SQLite and zlib with their headers; installed where apt-get can do it, else named.
libraries:
	@Scripts/system-libraries.sh

# Also what is linked into a program with Swift's runtime inside.
static-libraries:
	@Scripts/system-libraries.sh static
