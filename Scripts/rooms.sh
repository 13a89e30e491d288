#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Checks that the rooms of each target know each other in one direction only. A room is a folder of a target, and knows
# another when one of its files names a type that only the other declares at the top level of a file. No two rooms may know
# each other, be it through others.
#
#   Scripts/rooms.sh                 all targets
#   Scripts/rooms.sh Sources/TARGET  one target, with every room and the rooms it knows
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# Reads all files of a target twice: for the types that they declare, and for those that they name.
read -r -d '' rooms <<'AWK' || true
function room(file,    parts, count, top) {
  count = split(file, parts, "/")
  top = split(target, unused, "/")
  return count > top + 1 ? parts[top + 1] : "(top)"
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
  for (a in seen) for (b in seen) reaches[a, b] = knows[a, b]
  for (via in seen) for (a in seen) for (b in seen) if (reaches[a, via] && reaches[via, b]) reaches[a, b] = 1
  for (a in seen) for (b in seen) {
    if (a < b && reaches[a, b] && reaches[b, a] && !(knows[a, b] && knows[b, a])) print "pair\t" target ": " a ", " b
  }
}
AWK

report() {
  local files=()
  while IFS= read -r file; do files+=("$file"); done < <(find "$1" -name '*.swift' | LC_ALL=C sort)
  if ((${#files[@]} == 0)); then return; fi
  awk -v target="$1" "$rooms" pass=1 "${files[@]}" pass=2 "${files[@]}" | LC_ALL=C sort
}

if (($# > 0)); then
  report "${1%/}" | cut -f 2
  exit
fi

status=0
while IFS= read -r pair; do
  printf '%s know each other: let one of them do without the other\n' "$pair" >&2
  status=1
done < <(for target in Sources/*; do report "$target"; done | sed -n 's/^pair\t//p')
exit "$status"
