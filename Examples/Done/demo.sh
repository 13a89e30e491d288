#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Opens and migrates a store of a to-do app's first release with today's app. Works on copies in a temporary directory.
# Arguments are passed to `swift build`. Nothing is built if DONE_TOOLS names a directory with both programs.
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

# Quotes words for display.
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
  printf 'The demonstration failed: %s.\n' "$*" >&2
  exit 1
}

build() {
  swift build --package-path Examples/Done "$@"
}

tools=${DONE_TOOLS:-}
if [[ -z $tools ]]; then
  printf 'Building coredata and the example. The first build takes minutes.\n'
  # SwiftPM does not notice added or removed sources in a package that the example depends on, unless its plan is removed.
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

say "1. A store written by the first release of a to-do app"
run 0 coredata store info Done.sqlite

say "2. Today's app has the third version of the model. It refuses the store and lists the differences"
run 1 ./done list Done.sqlite --no-migration | fold -s -w 110
run 0 coredata store match Done.sqlite Done.xcdatamodeld
run 0 coredata model diff Done.xcdatamodeld@Done "Done.xcdatamodeld@Done 3"

say "3. The plan, which changes nothing"
run 0 coredata migrate plan Done.sqlite Done.xcdatamodeld

say "4. The migration"
coredata store export Done.sqlite --entity TSPItem >before.jsonl
run 0 coredata migrate run Done.sqlite Done.xcdatamodeld
coredata store export Done.sqlite --entity TSPItem >after.jsonl

say "5. The rows are the same: both exports, compared value by value"
head -n 1 before.jsonl
head -n 1 after.jsonl
# `isDone` was `done`, and two properties are new and empty.
sed -E 's/"isDone":/"done":/; s/"(list|updatedAt)":null,?//g; s/,}/}/' after.jsonl >after-with-old-names.jsonl
cmp before.jsonl after-with-old-names.jsonl || fail "the rows differ"
printf '%d rows, all values equal\n' "$(wc -l <before.jsonl)"

say "6. The app opens the store and uses the new version"
run 0 ./done add Done.sqlite "Show Nora the migration" --list Work
run 0 ./done list Done.sqlite --open --last 5
