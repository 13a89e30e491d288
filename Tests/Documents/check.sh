#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Compiles every Swift block of the Markdown pages, in two runs of the compiler: fragments of manifests, and all other blocks.
# Argument: the directory of the modules of a build with tests. Of the guides (.docc), only the fragments of manifests are among
# them: tests run the other blocks.
#
# A block is the body of a function, or of a type if it declares a function or type itself; CoreData and Foundation are imported.
# What else it needs stands before it, where readers do not see it:
#
#     <!-- swift
#     let context: NSManagedObjectContext
#     -->
set -euo pipefail
modules=$(cd "$1" && pwd)
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  printf 'Tests/Documents: %s.\n' "$*" >&2
  exit 1
}

toolchain=$(dirname "$(readlink -f "$(command -v swiftc)")")/..
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/code" "$folder/manifests"

pages=()
while IFS= read -r -d '' page; do
  if [[ -f $page ]]; then pages+=("$page"); fi
done < <(git ls-files -z --cached --others --exclude-standard -- '*.md')
((${#pages[@]} > 0)) || fail 'there are no pages'
count=$(awk -v folder="$folder" -f Tests/Documents/blocks.awk "${pages[@]}") || fail 'a page cannot be read'
for part in code manifests; do
  compgen -G "$folder/$part/*.swift" > "$folder/found.txt" || fail "there is no block of $part"
done

flags=(-I "$modules")
for map in Sources/C*/module.modulemap; do
  flags+=(-Xcc "-fmodule-map-file=$map")
done

# Arguments: what is compiled, flags.
compile() {
  swiftc -typecheck -continue-building-after-errors -parse-as-library -swift-version 6 -suppress-warnings -module-name Documents "${@:2}" "$folder/$1"/*.swift ||
    fail "blocks of $1 do not compile"
}

compile manifests -package-description-version 6.0 -I "$toolchain/lib/swift/pm/ManifestAPI"
# SwiftPM builds macros as tools of the host.
macros=$modules/../SwiftDataMacros-tool
[[ -x $macros ]] || fail 'the macros of SwiftData are not built'
compile code "${flags[@]}" -load-plugin-executable "$macros#SwiftDataMacros" -plugin-path "$toolchain/lib/swift/host/plugins/testing" -plugin-path "$toolchain/lib/swift/host/plugins"
printf 'Tests/Documents: %s Swift blocks of %s pages compile.\n' "$count" "$(grep -l '^```swift' "${pages[@]}" | wc -l)"
