#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the rooms of each target know each other in one direction only. A room is a folder of a target, and knows
# another when one of its files names a type that only the other declares at the top level of a file. No two rooms may know
# each other, be it through others. No two folders of a room may know each other but those of the list below.
#
#   Scripts/rooms.sh                       all targets
#   Scripts/rooms.sh Sources/TARGET [1|2]  one target, with every room (or their folders, 2) and those it knows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Folders that know each other; ARCHITECTURE.md says why.
known=(
  "Sources/CoreData: ObjectGraph/Context, ObjectGraph/Fetching"
  "Sources/CoreData: ObjectGraph/Context, ObjectGraph/Object"
  "Sources/CoreData: ObjectGraph/Context, ObjectGraph/Saving"
  "Sources/CoreData: Model, Model/Rows"
  "Sources/CoreData: Stores, Stores/Kinds"
  "Sources/SwiftData: Stack, Stack/DataStores"
)

# Reads all files of a target twice: for the types that they declare, and for those that they name.
read -r -d '' rooms <<'AWK' || true
function room(file,    parts, count, top, name, i) {
  count = split(file, parts, "/")
  top = split(target, unused, "/")
  if (count <= top + 1) return "(top)"
  name = parts[top + 1]
  for (i = 2; i <= depth && top + i < count; i++) name = name "/" parts[top + i]
  return name
}
# The line without comments and without what stands between quotation marks.
function code(line,    marks, odd) {
  marks = gsub(/"""/, "\"\"\"", line)
  odd = marks % 2
  if (inText) { if (odd) inText = 0; return "" }
  if (odd) { inText = 1; sub(/""".*/, "", line); return line }
  gsub(/"([^"\\]|\\.)*"/, "\"\"", line)
  sub(/\/\/.*/, "", line)
  return line
}
FNR == 1 { inText = 0; here = room(FILENAME); seen[here] = 1 }
{ line = code($0) }
pass == 1 {
  if (line !~ /^[@a-z]/) next
  while (sub(/^(@[A-Za-z]+(\([^)]*\))?|public|package|internal|open|final|indirect|private|fileprivate) +/, "", line)) { }
  if (line !~ /^(class|struct|enum|protocol|actor|typealias) +[A-Z]/) next
  sub(/^[a-z]+ +/, "", line)
  match(line, /^[A-Za-z0-9_]+/)
  name = substr(line, 1, RLENGTH)
  if (name in owner && owner[name] != here) owner[name] = ""; else owner[name] = here
  next
}
{
  while (match(line, /[A-Za-z0-9_]+/)) {
    name = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    if (name in owner && owner[name] != "" && owner[name] != here) knows[here, owner[name]]++
  }
}
END {
  for (a in seen) {
    list = ""
    for (b in seen) {
      if (!knows[a, b]) continue
      list = list " " b " (" knows[a, b] ")"
      if (a < b && knows[b, a]) print "pair\t" target ": " a ", " b
    }
    print "room\t" a ":" list
  }
  if (depth > 1) exit
  for (a in seen) for (b in seen) reaches[a, b] = knows[a, b]
  for (via in seen) for (a in seen) for (b in seen) if (reaches[a, via] && reaches[via, b]) reaches[a, b] = 1
  for (a in seen) for (b in seen) {
    if (a < b && reaches[a, b] && reaches[b, a] && !(knows[a, b] && knows[b, a])) print "pair\t" target ": " a ", " b
  }
}
AWK

# report TARGET DEPTH
report() {
  local files=()
  while IFS= read -r file; do files+=("$file"); done < <(find "$1" -name '*.swift' | LC_ALL=C sort)
  if ((${#files[@]} == 0)); then return; fi
  awk -v target="$1" -v depth="$2" "$rooms" pass=1 "${files[@]}" pass=2 "${files[@]}" | LC_ALL=C sort
}

if (($# > 0)); then
  report "${1%/}" "${2:-1}" | cut -f 2
  exit
fi

status=0
pairs=$(for target in Sources/*; do report "$target" 1 && report "$target" 2; done | sed -n 's/^pair\t//p' | sort -u)
while IFS= read -r pair; do
  printf '%s know each other: let one of them do without the other\n' "$pair" >&2
  status=1
done < <(grep -vxF -f <(printf '%s\n' "${known[@]}") <<<"$pairs" | grep . || true)
while IFS= read -r pair; do
  printf '%s do not know each other any more: take them from the list in %s\n' "$pair" "$0" >&2
  status=1
done < <(printf '%s\n' "${known[@]}" | grep -vxF -f <(printf '%s\n' "$pairs") || true)
exit "$status"
