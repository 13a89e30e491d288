#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, has it migrate copies of the stores of all versions, and compares the output. Arguments are passed to
# `swift build`. COREDATA names a tool that verifies the migrated stores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  ../../Scripts/quiet.sh swift build "$@" --product trips
}

fail() {
  printf 'Examples/Trips: %s.\n' "$*" >&2
  exit 1
}

# Debian's Swift 6.0.3 has an Observation library that lacks a symbol, so that no program with models links.
version=$(swift --version 2>/dev/null || true)
if [[ $version == *'Swift version 6.0'* ]]; then
  printf 'Examples/Trips: left out, since SwiftData has not been tried with Swift 6.0.\n'
  exit 0
fi

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
trips=$(build "$@" --show-bin-path)/trips
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp Stores/*.store "$folder"

# The second run opens stores that are migrated already.
for run in first second; do
  "$trips" "$folder"/v{1,2,3}.store | diff expected.txt - || fail "the output of the $run run differs"
done
if [[ -n ${COREDATA:-} ]]; then
  "$COREDATA" model lock --check Schemas/Trips.xcdatamodeld >"$folder/lock.txt" || fail "$(cat "$folder/lock.txt")"
  # The tool that is linked with the plan needs no files, and has the same versions.
  swift package "$@" coredata model decompile TripsMigrationPlan -o "$folder/Trips.xcdatamodeld" >"$folder/log.txt" 2>&1 ||
    fail "swift package coredata does not know the plan: $(cat "$folder/log.txt")"
  diff -r Schemas/Trips.xcdatamodeld "$folder/Trips.xcdatamodeld" || fail "the schemas in code differ from the files"
  swift package "$@" coredata model lint TripsMigrationPlan --all-steps --allow-loss >"$folder/log.txt" 2>&1 ||
    fail "$(cat "$folder/log.txt")"
  for store in "$folder"/*.store; do
    "$COREDATA" store verify "$store" >"$folder/findings.txt" || fail "$(cat "$folder/findings.txt")"
  done
fi
cat expected.txt
printf 'Examples/Trips: stores of three versions were migrated and read.\n'
