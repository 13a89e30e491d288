#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs it from other places than its own, and compares what it says. What is given as arguments goes
# to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

fail() {
  printf 'Examples/Finding: %s.\n' "$*" >&2
  exit 1
}

build() {
  swift build "$@" --product finding
}

# SwiftPM does not notice that a source has come or gone in a package that the example depends on; without its plan it looks.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
program=$(build "$@" --show-bin-path)/finding

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t models < <(cut -d : -f 1 expected.txt | uniq)

# By a link, in another folder.
ln -s "$program" "$folder/linked"
(cd "$folder" && ./linked "${models[@]}") >"$folder/output"
diff expected.txt "$folder/output" || fail "the program, run by a link, says something else"

# Copied away, with the resources beside it, and those of another target, which come first by name.
mkdir -p "$folder/elsewhere/A_library.resources"
cp -R "Books.xcdatamodeld/Books.xcdatamodel" "$folder/elsewhere/A_library.resources"
cp "$program" "$folder/elsewhere"
cp -R "$(dirname "$program")/Finding_finding.resources" "$folder/elsewhere"
(cd / && "$folder/elsewhere/finding" "${models[@]}") >"$folder/output"
diff expected.txt "$folder/output" || fail "the program, copied away, says something else"

# A model that is not there: the message names the place that was searched.
if ("$program" Nowhere || exit 1) >"$folder/output" 2>&1; then fail "a missing model went unnoticed"; fi
grep -q "no model named 'Nowhere'.*Finding_finding.resources" "$folder/output" || fail "the message says too little"
printf 'Examples/Finding: %d models found by their names.\n' "${#models[@]}"
