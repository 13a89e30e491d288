#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs it from other directories, and compares the output. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() {
  printf 'Examples/Finding: %s.\n' "$*" >&2
  exit 1
}

build() {
  ../../Scripts/quiet.sh swift build "$@" --product finding
}

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
program=$(build "$@" --show-bin-path)/finding

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t models < <(cut -d : -f 1 expected.txt | uniq)

# Through a link in another directory.
ln -s "$program" "$folder/linked"
(cd "$folder" && ./linked "${models[@]}") >"$folder/output"
diff expected.txt "$folder/output" || fail "the program, run by a link, says something else"

# As a copy, with its resources and those of another target that sort first.
mkdir -p "$folder/elsewhere/A_library.resources"
cp -R "Books.xcdatamodeld/Books.xcdatamodel" "$folder/elsewhere/A_library.resources"
cp "$program" "$folder/elsewhere"
cp -R "$(dirname "$program")/Finding_finding.resources" "$folder/elsewhere"
(cd / && "$folder/elsewhere/finding" "${models[@]}") >"$folder/output"
diff expected.txt "$folder/output" || fail "the program, copied away, says something else"

# A missing model: the message names the searched directory.
if ("$program" Nowhere || exit 1) >"$folder/output" 2>&1; then fail "a missing model went unnoticed"; fi
grep -q "no model named 'Nowhere'.*Finding_finding.resources" "$folder/output" || fail "the message says too little"
printf 'Examples/Finding: %d models were found by name.\n' "${#models[@]}"
