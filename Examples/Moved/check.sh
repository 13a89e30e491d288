#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs its program and the app's own tests. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  swift build "$@" --build-tests
}

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
if ! "$(build "$@" --show-bin-path)/orders" | diff expected.txt -; then
  printf 'Examples/Moved: the output differs.\n' >&2
  exit 1
fi
tests="$(swift test --skip-build "$@" 2>&1)" || {
  printf '%s\nExamples/Moved: the tests failed.\n' "$tests" >&2
  exit 1
}
printf '%s\n' "$tests" | grep -o 'Executed [0-9]* tests' | tail -1
printf 'Examples/Moved: an app'"'"'s model layer and its tests ran unchanged.\n'
