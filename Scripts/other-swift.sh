#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Tries the project with the oldest Swift that it promises to work with: Debian 13's own, 6.0.3.
#
#   Scripts/other-swift.sh          makes a bare Debian 13 with debootstrap, installs that Swift, and runs the checks there;
#                                   needs root. ROOT=DIR keeps the system, and what is built, for the next time.
#   Scripts/other-swift.sh here     runs the checks with the Swift of this system, in a copy of the sources
#
# The checks: the library, the tool and the plug-ins build; `make demo`; the examples; stores that are exchanged with Apple's
# framework (Conformance); and the suites of migrations and of conformance, without the files that use what is there only since
# 6.1 (errors that `#expect(throws:)` returns, `try` within an expectation, closures in a test's arguments) and 6.2 (tests that
# end a process, weak constants), and without those that need these files. How many those are is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

suite=trixie
# The suites of tests that are run; a regular expression.
suites='ConformanceTests|CoreDataTests.*(Migrat|Mapping|Staged|Inferred|Recovery|InPlace)'
newer='= #expect\(throws|#require\(throws|processExitsWith|perform\(schedule:_:\)|#(expect|require)\([^t].*[ (]try |arguments: .*\{|weak let'

fail() {
  printf 'other-swift: %s.\n' "$*" >&2
  exit 1
}

# Prints the files that make up the project.
files() { git ls-files -z --cached --others --exclude-standard; }

step() { printf '== %s\n' "$*"; }

# Prints the types that the sources in the standard input declare outside others.
declared() { sed -nE 's/^([a-z]+ )*(struct|class|enum|protocol|actor) ([A-Z][A-Za-z0-9]*).*/\3/p' | sort -u; }

sources() { find "$@" -name '*.swift' -exec cat {} +; }

# Moves test files away.
leave_out() {
  local file
  while read -r file; do
    mkdir -p ".build/left-out/$(dirname "$file")"
    mv "$file" ".build/left-out/$file"
  done
}

# Leaves out what this Swift cannot compile, or what needs such files.
reduce_tests() {
  local ran=Tests/CoreDataTests lost names target
  rm -rf .build/left-out
  # SwiftPM builds all test targets, also those whose suites do not run.
  for target in Tests/*Tests; do
    [[ $target != "$ran" ]] || continue
    find "$target" -name '*.swift' | leave_out
    printf '// Left out.\n' >"$target/Empty.swift"
  done
  { grep -rlE "$newer" "$ran" --include='*.swift' || true; } | leave_out
  while true; do
    names=$(comm -23 <(sources ".build/left-out/$ran" | declared) <(sources "$ran" Sources | declared) | paste -sd '|')
    lost=$(grep -rlwE "${names:-[^[:print:]]}" "$ran" --include='*.swift') || return 0
    leave_out <<<"$lost"
  done
}

check() {
  local copy=${COREDATA_COPY:?}
  local place=(--scratch-path "$copy/.build" -Xlinker --export-dynamic)
  cd "$copy"
  step "$(swift --version 2>/dev/null | head -n 1)"
  step 'library, tool and plug-ins'
  make --no-print-directory build
  step 'make demo'
  make --no-print-directory demo
  step 'examples'
  local tools=$copy/.build/debug
  Examples/Finding/check.sh "${place[@]}"
  COREDATA=$tools/coredata Examples/Splitting/check.sh "${place[@]}"
  Examples/Shelf/check.sh "${place[@]}"
  COREDATA=$tools/coredata Examples/Moved/check.sh --scratch-path "$copy/.build/moved"
  step 'conformance'
  EXCHANGE=$tools/ConformanceExchange Conformance/check.sh
  step 'tests'
  reduce_tests
  printf '%s test files need a newer Swift, or others that do, and are left out; %s are built.\n' \
    "$(find .build/left-out -name '*.swift' | wc -l)" "$(find Tests -name '*.swift' | wc -l)"
  # The Observation library of Swift 6.0 for Linux lacks a function that it calls when it stops the program.
  swift test --disable-xctest -Xlinker --export-dynamic -Xlinker --allow-shlib-undefined --filter "$suites" 2>&1 | tee .build/test.log | grep -E '^✘|error:|Test run with'
  grep -qE 'Test run with [0-9]+ tests.* passed' .build/test.log || fail "tests failed; all output is in $copy/.build/test.log"
}

copy_into() {
  mkdir -p "$1"
  # Files that were removed since the last time, and those that the tests lacked.
  find "$1" -mindepth 1 -maxdepth 1 ! -name .build -exec rm -rf {} +
  files | tar --create --null --files-from=- --ignore-failed-read 2>/dev/null | tar --extract --directory "$1"
}

in_root() {
  # The trap needs them when the function has ended.
  declare -g root='' kept=${ROOT:-}
  [[ $(id -u) -eq 0 ]] || fail 'making a system needs root; with the Swift to be tried: Scripts/other-swift.sh here'
  command -v debootstrap >/dev/null || apt-get install --yes debootstrap >/dev/null || fail 'install debootstrap'
  root=${kept:-$(mktemp -d)}
  # shellcheck disable=SC2329  # called by the trap
  clean() {
    local place
    for place in "$root/fixtures" "$root/proc"; do
      if mountpoint --quiet "$place"; then umount "$place"; fi
    done
    if [[ -z $kept ]]; then rm -rf --one-file-system "$root"; fi
  }
  trap clean EXIT
  if [[ ! -L $root/usr/bin/swift ]]; then  # a link that leads somewhere only within the root
    step "a bare Debian ($suite) with its Swift"
    mkdir -p "$root"
    if [[ ! -d $root/etc/apt ]]; then
      debootstrap --variant=minbase "$suite" "$root" >"$root.log" 2>&1 || fail "no bare $suite could be made: $(tail -n 1 "$root.log")"
      rm -f "$root.log"
    fi
    # The compiler finds its libraries by the table of processes.
    mountpoint --quiet "$root/proc" || mount -t proc proc "$root/proc"
    chroot "$root" /bin/sh -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq \
      --no-install-recommends swiftlang libc6-dev libstdc++-14-dev git make ca-certificates' >/dev/null 2>&1 ||
      fail "Debian's Swift could not be installed"
  fi
  mountpoint --quiet "$root/proc" || mount -t proc proc "$root/proc"
  copy_into "$root/project"
  if [[ -d ${COREDATA_FIXTURES:-../shared/fixtures} ]]; then
    mkdir -p "$root/fixtures"
    mount --bind -o ro "${COREDATA_FIXTURES:-../shared/fixtures}" "$root/fixtures"
  fi
  chroot "$root" /usr/bin/env -i PATH=/usr/bin:/usr/sbin:/bin:/sbin HOME=/root COREDATA_FIXTURES=/fixtures COREDATA_COPY=/project \
    /bin/bash /project/Scripts/other-swift.sh check
}

case ${1:-} in
  '') in_root ;;
  here)
    COREDATA_COPY=$(mktemp -d)
    export COREDATA_COPY
    trap 'rm -rf "$COREDATA_COPY"' EXIT
    copy_into "$COREDATA_COPY"
    check
    ;;
  # Within the system that was made.
  check) check ;;
  *)
    sed -n '6,8p' "${BASH_SOURCE[0]}" | sed 's/^#   //' >&2
    exit 2
    ;;
esac
