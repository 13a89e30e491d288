#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Builds the site of the documentation: the guides of CoreData and SwiftData (the .docc of each) with the reference of their public
# declarations. A link that leads nowhere is an error. Arguments: the folder for it, flags of the build. MODULES names a directory
# with modules that are built already.
#
# The site is static: `python3 -m http.server --directory FOLDER/site` shows it at /documentation.
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

rm -rf "$folder/symbols" "$folder/archives" "$folder/site"
mkdir -p "$folder/archives"
modules=${MODULES:-}
if [[ -z $modules ]]; then
  swift build --scratch-path "$folder/build" "${@:2}" --target SwiftData
  modules=$(swift build --scratch-path "$folder/build" "${@:2}" --show-bin-path)/Modules
fi
extract=$(dirname "$docc")/swift-symbolgraph-extract
target=$(swift -print-target-info | sed -n 's/.*"unversionedTriple": "\(.*\)".*/\1/p' | head -n 1)
includes=()
for map in Sources/C*; do
  if [[ -f $map/module.modulemap ]]; then includes+=(-I "$map"); fi
done

# Writes the archive of a module with its first article.
archive() {
  local module=$1 symbols=$folder/symbols/$1 log=$folder/$1.log
  mkdir -p "$symbols"
  # Without the symbols of Foundation, which the module exports too, and without those that every class inherits.
  "$extract" -module-name "$module" -I "$modules" "${includes[@]}" -target "$target" \
    -minimum-access-level public -skip-synthesized-members -output-dir "$symbols"
  [[ -s $symbols/$module.symbols.json ]] || fail "no symbols of $module were written"
  "$docc" convert "Sources/$module/$module.docc" --additional-symbol-graph-dir "$symbols" \
    --output-path "$folder/archives/$module.doccarchive" --fallback-display-name "$module" --fallback-bundle-identifier "$module" \
    > "$log" 2>&1 || fail "$(head -n 40 "$log")"
  if grep -qE '^(error|warning): ' "$log"; then
    grep -E -A 1 '^(error|warning): ' "$log" | head -n 40 >&2
    fail "the guide or a comment of $module has links that lead nowhere"
  fi
}

for module in CoreData SwiftData; do archive "$module"; done
"$docc" merge "$folder"/archives/*.doccarchive --synthesized-landing-page-name OpenCoreData --output-path "$folder/archives/all"
"$docc" process-archive transform-for-static-hosting "$folder/archives/all" --output-path "$folder/site"
for page in coredata/gettingstarted swiftdata/firsttenminutes; do
  [[ -f $folder/site/documentation/$page/index.html ]] || fail "the site lacks $page"
done
printf 'The site is in %s: %s pages.\n' "$folder/site" "$(find "$folder/site/documentation" -name index.html | wc -l)"
