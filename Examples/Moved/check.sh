#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the example, runs its program, the app's own tests, and the tool with the app's classes; then once more with a copy
# whose sources `coredata port` has changed, and that excludes none from the target. Arguments are passed to `swift build`;
# COREDATA names the command.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

root="$(cd ../.. && pwd)"

build() {
  "$root/Scripts/quiet.sh" swift build "$@" --build-tests
}

# Builds the package in the working directory, and runs its program and tests.
check() {
  # SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
  rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
  build "$@"
  if ! "$(build "$@" --show-bin-path)/orders" | diff expected.txt -; then
    printf 'Examples/Moved: the output differs.\n' >&2
    exit 1
  fi
  local tests
  tests="$(swift test --skip-build "$@" 2>&1)" || {
    printf '%s\nExamples/Moved: the tests failed.\n' "$tests" >&2
    exit 1
  }
  printf '%s\n' "$tests" | grep -o 'Executed [0-9]* tests' | tail -1
  if [[ -f Tests/OrderBookTests/MovingTests.swift && $tests != *'Test run with 2 tests'* ]]; then
    printf '%s\nExamples/Moved: the tests of MOVING.md did not run.\n' "$tests" >&2
    exit 1
  fi
}

check "$@"
printf 'Examples/Moved: an app'"'"'s model layer and its tests ran unchanged.\n'

# The tool with the app's policies and value transformers. Values at the ends of every range break rules of this model.
log="$(mktemp)"
trap 'rm -f "$log"' EXIT
swift package "$@" coredata migrate check Sources/OrderBook/Model/OrderBook.xcdatamodeld \
  --mappings Sources/OrderBook/Model > "$log" 2>&1 && status=0 || status=$?
if [[ $status != 0 ]] || ! grep -q '^Rehearsal  4 migrated, 2 refused' "$log"; then
  cat "$log" >&2
  printf 'Examples/Moved: swift package coredata did not rehearse the migrations (status %s).\n' "$status" >&2
  exit 1
fi
if swift package "$@" coredata model show none.xcdatamodel > "$log" 2>&1; then
  printf 'Examples/Moved: swift package coredata ended with 0 where the tool fails.\n' >&2
  exit 1
fi
printf 'Examples/Moved: swift package coredata rehearsed all migrations with the policies of the app.\n'

coredata="${COREDATA:-$root/.build/debug/coredata}"
if [[ ! -x "$coredata" ]]; then
  "$root/Scripts/quiet.sh" swift build --package-path "$root" --product coredata
  coredata="$root/.build/debug/coredata"
fi
copy="$(mktemp -d)"
trap 'rm -rf "$copy" "$log"' EXIT
mkdir "$copy/Moved"
cp -R Package.swift Sources Tests expected.txt "$copy/Moved"
cd "$copy/Moved"
"$coredata" port .
sed -i.old -e "s|path: \"../..\"|path: \"$root\"|" -e 's|exclude: \["Model"\]|exclude: ["Model/OrderBook.xcdatamodeld", "Model/OrderBook2to3.xcmappingmodel"]|' \
  -e '/exclude: \["App"\]/d' Package.swift
# The first tests of MOVING.md, for this app: its orders need a customer.
awk '/^## /{ section = /^## 5\./ } /^```$/ { inside = 0 } section && inside && wanted { print }
  /^```swift$/ { inside = 1; wanted = section && ++blocks == 2 }' "$root/MOVING.md" |
  sed -e 's/Shop/OrderBook/g' -e 's/^  order.reference = "1"$/  order.reference = "WS-2024-0001"; order.date = Date(); order.customer = customer/' \
    -e 's/^  let order = .*/  let customer = Customer(context: container.viewContext)\n  customer.displayName = "Anna"; customer.customerNumber = 1\n&/' \
    > Tests/OrderBookTests/MovingTests.swift
grep -q 'expectMigration' Tests/OrderBookTests/MovingTests.swift || {
  printf 'Examples/Moved: MOVING.md has no first test.\n' >&2
  exit 1
}
check "$@"
printf 'Examples/Moved: so they did after coredata port.\n'
