#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the command line tool, the to-do example and another program with --static-swift-stdlib, like shipped tools, and
# runs the demonstration and a round trip with them. Arguments are passed to `swift build`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'Examples/Static: %s.\n' "$*" >&2
  exit 1
}

build() {
  ../Scripts/quiet.sh swift build --static-swift-stdlib "$@"
}

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
for product in coredata 'done' roundtrip; do
  build "$@" --product "$product"
done
tools=$(build "$@" --show-bin-path)
for program in coredata 'done' roundtrip; do
  if ldd "$tools/$program" | grep -q 'libFoundation\|libswiftCore'; then fail "$program is not linked statically"; fi
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
DONE_TOOLS=$tools Done/demo.sh >"$folder/demo" || fail "the demonstration has failed: $(tail -n 5 "$folder/demo")"
grep -q 'all values equal' "$folder/demo" || fail "the demonstration says too little"

"$tools/roundtrip" "$folder/Round.sqlite" || fail "the round trip has failed"
"$tools/coredata" store info "$folder/Round.sqlite" >"$folder/info"
grep -q 'Item' "$folder/info" || fail "the store says nothing of its entity"
rows=$("$tools/coredata" store export "$folder/Round.sqlite" | grep -c '"name"')
[[ $rows -eq 10 ]] || fail "$rows rows were exported instead of 10"

# Compile a model and convert it back.
"$tools/coredata" model compile Done/Done.xcdatamodeld --output "$folder/Done.momd" >/dev/null
"$tools/coredata" model versions "$folder/Done.momd" >"$folder/versions"
grep -q 'Done 3' "$folder/versions" || fail "the compiled model lacks a version"
printf 'Examples/Static: statically linked programs saved, migrated and exported their stores.\n'
