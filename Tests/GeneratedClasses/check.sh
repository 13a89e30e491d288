#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Generates the classes of every model below a directory, compiles them, and writes and reads each of their properties through
# a store. `make generated MODELS=DIR` runs it; it needs the debug build of `make build`.
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="$(cd "$here/../.." && pwd)"
models="$(cd "${1:?Name a directory with models.}" && pwd)"
build="${2:-$root/.build}/debug"
export here root build
work="$(mktemp -d)"
export work
trap 'rm -rf "$work"' EXIT

# A copy, which a build that runs meanwhile does not replace.
cp "$build/coredata" "$work/coredata"
flags=(-I "$build/Modules")
for library in CSQLite CZlib CSwiftRuntime; do
  flags+=(-Xcc "-fmodule-map-file=$root/Sources/$library/module.modulemap" -I "$root/Sources/$library")
done
objects=()
for target in FileSystem SQLite Predicates ModelFiles StoreFiles Migration ""; do
  objects+=("$build/CoreData$target.build/"*.o)
done
swiftc -emit-library -o "$work/libAll.so" "${objects[@]}" -lsqlite3 -lz
export FLAGS="${flags[*]}"

# Prints what was checked for one model.
check() {
  local model="$1" number="$2" folder="$work/$2"
  mkdir "$folder"
  if ! "$work/coredata" model generate "$model" -o "$folder" --all >"$folder/log" 2>&1; then
    printf 'UNREADABLE %s: %s\n' "$model" "$(tail -1 "$folder/log")"
    return
  fi
  # A model that is in several apps is checked once.
  local digest
  digest="$(cat "$folder"/*.swift 2>/dev/null | grep -v '^// Generated from' | sha256sum | cut -c1-40)"
  if ! mkdir "$work/seen-$digest" 2>/dev/null; then
    printf 'SAME %s\n' "$model"
    return
  fi
  if ! compgen -G "$folder/*+CoreDataProperties.swift" >/dev/null; then return; fi
  {
    printf 'import CoreData\nlet harness = Harness()\n'
    awk '
      /^extension .* \{$/ { class = $2 }
      /NSFetchRequest<.*>\(entityName: / {
        entity = $0; sub(/.*entityName: /, "", entity); sub(/\)$/, "", entity)
        if (open) print "])"
        print "harness.check(" entity ", " class ".self, ["; open = 1
      }
      /^  public var .*: .* \{$/ {
        name = $3; sub(/:$/, "", name); key = name; gsub(/`/, "", key)
        print "  Probe(\"" key "\", \\" class "." name "),"
      }
      END { if (open) print "])" }' "$folder"/*+CoreDataProperties.swift
    printf 'try harness.finish()\n'
  } >"$folder/main.swift"
  # Types that the model names and the app has: classes of the entities for which only an extension is generated, and others.
  local try name file
  printf 'import CoreData\n' >"$folder/Missing.swift"
  for file in "$folder"/*+CoreDataProperties.swift; do
    name="$(basename "$file" +CoreDataProperties.swift)"
    if [[ ! -f "$folder/$name+CoreDataClass.swift" ]]; then
      printf 'public class %s: NSManagedObject {}\n' "$name" >>"$folder/Missing.swift"
    fi
  done
  for try in 1 2 3; do
    # shellcheck disable=SC2086
    if swiftc -swift-version 5 -module-name Generated $FLAGS "$folder"/*.swift "$here/Harness.swift" -o "$folder/run" \
      -L "$work" -lAll -Xlinker -rpath -Xlinker "$work" >"$folder/log" 2>&1; then
      break
    fi
    for name in $(sed -n "s/.*error: cannot find \(type \)\{0,1\}'\([A-Za-z0-9_]*\)' in scope.*/\2/p" "$folder/log" | sort -u); do
      printf 'public class %s: NSObject {}\n' "$name" >>"$folder/Missing.swift"
    done
  done
  if [[ ! -x "$folder/run" ]]; then
    printf 'FAILED %s does not compile: %s\n' "$model" "$(grep -m1 'error:' "$folder/log")"
  elif ! "$folder/run" "$model" >"$folder/log" 2>&1; then
    sed "s|^|FAILED $model: |" "$folder/log"
  else
    sed 's/^/CHECKED /' "$folder/log"
  fi
  rm -rf "$folder"
}
export -f check

start=$SECONDS
find "$models" -name '*.xcdatamodel' -type d | sort | awk '{ print $0 "\t" NR }' \
  | xargs -P "$(nproc)" -d '\n' -I{} bash -c 'IFS=$'"'\t'"' read -r model number <<<"$1"; check "$model" "$number"' _ {} \
    >"$work/results"

grep '^FAILED' "$work/results" || true
grep '^UNREADABLE' "$work/results" || true
awk -v seconds=$((SECONDS - start)) '
  /^CHECKED/ { models++; sub(/^CHECKED /, ""); n = split($0, parts, ";")
    for (i = 1; i <= n; i++) { value = parts[i] + 0; what = parts[i]; sub(/^[0-9]+ /, "", what); sum[what] += value } }
  /^SAME/ { same++ }
  END { printf "%d models checked (%d more have the same classes) in %d s", models, same, seconds
    for (what in sum) printf ", %d %s", sum[what], what
    print "" }' "$work/results"
! grep -q '^FAILED' "$work/results"
