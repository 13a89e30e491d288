#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs it, and compares the output. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  ../../Scripts/quiet.sh swift build "$@" --product shelf
}

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
shelf=$(build "$@" --show-bin-path)/shelf
if ! "$shelf" | diff expected.txt -; then
  printf 'Examples/Shelf: the output differs.\n' >&2
  exit 1
fi
# shellcheck disable=SC2016
if ! ../../Scripts/postgresql.sh run bash -c 'set -o pipefail; SHELF_STORE="$SERVER&schema=shelf" "$1" | diff expected.txt -' - "$shelf"; then
  printf 'Examples/Shelf: the output over PostgreSQL differs.\n' >&2
  exit 1
fi
printf 'Examples/Shelf: books were imported, listed, edited and undone.\n'
