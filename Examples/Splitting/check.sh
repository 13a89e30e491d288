#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs it, and compares what it says. What is given as arguments goes to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  swift build "$@" --product splitting
}

# SwiftPM does not notice that a source has come or gone in a package that the example depends on; without its plan it looks.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
if ! "$(build "$@" --show-bin-path)/splitting" | diff expected.txt -; then
  printf 'Examples/Splitting: the program says something else.\n' >&2
  exit 1
fi
printf 'Examples/Splitting: migrated by a policy, and read.\n'
