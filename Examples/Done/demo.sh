#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# A store that the first release of a to-do app left behind meets the app of today. Works on copies in a temporary
# folder. What is given as arguments goes to `swift build`; nothing is built where DONE_TOOLS names a folder with both
# programs.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi

# Shows a command, runs it, and checks its exit status.
#   $1 the status it must end with; the rest is the command
run() {
  local wanted=$1 status=0
  shift
  printf '%s$%s%s\n' "$dim" "$(quoted "$@")" "$plain"
  "$@" 2>&1 || status=$?
  [[ $status -eq $wanted ]] || fail "exit status $status instead of $wanted"
}

# Words as one would type them.
quoted() {
  local word
  for word in "$@"; do
    if [[ $word == *' '* ]]; then printf ' "%s"' "$word"; else printf ' %s' "$word"; fi
  done
}

say() {
  printf '\n%s%s%s\n' "$bold" "$*" "$plain"
}

fail() {
  printf 'The demonstration has failed: %s.\n' "$*" >&2
  exit 1
}

build() {
  swift build --package-path Examples/Done "$@"
}

tools=${DONE_TOOLS:-}
if [[ -z $tools ]]; then
  printf 'Building the command coredata and the example; the first time this takes minutes.\n'
  # SwiftPM does not notice that a source has come or gone in a package that the example depends on; without its plan it
  # looks.
  rm -f "$(build "$@" --show-bin-path)"/../../debug.yaml
  for product in coredata 'done'; do
    build "$@" --product "$product"
  done
  tools=$(build "$@" --show-bin-path)
fi
PATH=$tools:$PATH

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -R Examples/Done/Done.sqlite Examples/Done/Done.xcdatamodeld "$folder"
cd "$folder"
ln -s "$tools/done" .

say "1. A store that the first release of a to-do app has left behind"
run 0 coredata store info Done.sqlite

say "2. Today's app has the third version of the model. It refuses the store, and says what differs"
run 1 ./done list Done.sqlite --no-migration | fold -s -w 110
run 0 coredata store match Done.sqlite Done.xcdatamodeld
run 0 coredata model diff Done.xcdatamodeld@Done "Done.xcdatamodeld@Done 3"

say "3. The plan; nothing is changed yet"
run 0 coredata migrate plan Done.sqlite Done.xcdatamodeld

say "4. The migration"
coredata store export Done.sqlite --entity TSPItem >before.jsonl
run 0 coredata migrate run Done.sqlite Done.xcdatamodeld
coredata store export Done.sqlite --entity TSPItem >after.jsonl

say "5. The same rows afterwards: both exports, compared value for value"
head -n 1 before.jsonl
head -n 1 after.jsonl
# What is called isDone now was called done, and two properties are new and empty.
sed -E 's/"isDone":/"done":/; s/"(list|updatedAt)":null,?//g; s/,}/}/' after.jsonl >after-in-old-words.jsonl
cmp before.jsonl after-in-old-words.jsonl || fail "the rows differ"
printf '%d rows, all values equal\n' "$(wc -l <before.jsonl)"

say "6. The app opens the store, and uses what the new version brought"
run 0 ./done add Done.sqlite "Show Nora the migration" --list Work
run 0 ./done list Done.sqlite --open --last 5
