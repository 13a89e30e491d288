#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the site of the documentation: the guide of Sources/CoreData/CoreData.docc with the reference of the public
# declarations. A link that leads nowhere is an error. Arguments: the folder for it, flags of the build.
#
# The site is static: `python3 -m http.server --directory FOLDER/site` shows it at /documentation/coredata.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
folder=$1

fail() {
  printf 'docs: %s.\n' "$*" >&2
  exit 1
}

docc=$(command -v docc || true)
[[ -n $docc ]] || docc=$(dirname "$(readlink -f "$(command -v swift)")")/docc
[[ -x $docc ]] || fail 'the toolchain has no docc'

symbols=$folder/symbols
rm -rf "$symbols" "$folder/site"
mkdir -p "$symbols"
swift build --scratch-path "$folder/build" "${@:2}" --target CoreData
modules=$(swift build --scratch-path "$folder/build" "${@:2}" --show-bin-path)
extract=$(dirname "$docc")/swift-symbolgraph-extract
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p' | head -n 1)
includes=()
for map in Sources/C*; do
  if [[ -f $map/module.modulemap ]]; then includes+=(-I "$map"); fi
done
# Without the symbols of Foundation, which the module exports too, and without those that every class inherits.
"$extract" -module-name CoreData -I "$modules/Modules" "${includes[@]}" -target "$target" \
  -minimum-access-level public -skip-synthesized-members -output-dir "$symbols"
[[ -s $symbols/CoreData.symbols.json ]] || fail 'no symbols were written'
"$docc" convert Sources/CoreData/CoreData.docc --additional-symbol-graph-dir "$symbols" --output-path "$folder/site" \
  --fallback-display-name CoreData --fallback-bundle-identifier CoreData \
  --transform-for-static-hosting 2>&1 | tee "$folder/docc.log" | grep -E '^(error|warning)' | head -n 20 || true
[[ -f $folder/site/documentation/coredata/gettingstarted/index.html ]] || fail "the site was not built; see $folder/docc.log"
if grep -E "CoreData.docc/.*(warning|error)" "$folder/docc.log"; then fail 'articles have links that lead nowhere'; fi
printf 'The site is in %s: %s pages.\n' "$folder/site" "$(find "$folder/site/documentation" -name index.html | wc -l)"
