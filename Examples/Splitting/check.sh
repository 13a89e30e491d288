#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs it, and compares the output; then has the command migrate a store with the same policy, from a
# library. Arguments are passed to `swift build`; COREDATA names the command, which `make build` has made.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

build() {
  ../../Scripts/quiet.sh swift build "$@" --product splitting
}

# SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
build "$@"
if ! "$(build "$@" --show-bin-path)/splitting" | diff expected.txt -; then
  printf 'Examples/Splitting: the output differs.\n' >&2
  exit 1
fi
printf 'Examples/Splitting: the store was migrated by a policy.\n'

coredata="${COREDATA:-../../.build/debug/coredata}"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
./library.sh "$(dirname "$coredata")/Modules" "$work/libContactPolicies.so"
"$(build "$@" --show-bin-path)/splitting" "$work/Contacts.sqlite"
run() { "$coredata" migrate run "$work/Contacts.sqlite" Contacts.xcdatamodeld --mappings Contacts.mapping "$@"; }
if run > "$work/log" 2>&1; then
  printf 'Examples/Splitting: the command migrated without the policy.\n' >&2
  exit 1
fi
run --policies "$work/libContactPolicies.so" > "$work/log" 2>&1 || {
  cat "$work/log" >&2
  exit 1
}
names="$("$coredata" store export "$work/Contacts.sqlite" --entity Contact)"
if [[ "$names" != *'"firstName":"Ada","lastName":"Lovelace"'* ]]; then
  printf 'Examples/Splitting: the command migrated to %s.\n' "$names" >&2
  exit 1
fi
printf 'Examples/Splitting: the command migrated a store by the policy in a library.\n'
