#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# A store that the first release of a to-do app left behind meets the app of today. Works on a copy in a temporary
# folder. What is given as arguments goes to `swift build`.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

if [[ -t 1 && -z ${NO_COLOR:-} ]]; then
  bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
else
  bold='' dim='' plain=''
fi

echo "Building the command coredata and the example. The first time takes some minutes."
for product in coredata done; do
  package=(--package-path .)
  [[ $product == done ]] && package=(--package-path Examples/Done)
  swift build "${package[@]}" "$@" --product "$product"
done
tools=$(swift build --package-path . "$@" --show-bin-path)

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp Examples/Done/Done.sqlite "$folder"
cp -R Examples/Done/Done.xcdatamodeld "$folder"
cd "$folder"
PATH=$tools:$PATH

say() { printf '\n%s%s%s\n' "$bold" "$*" "$plain"; }

# Shows a command, runs it, and checks its exit status.
#   $1 the status it must end with; the rest is the command
run() {
  local wanted=$1 status=0
  shift
  printf '%s$ %s%s\n' "$dim" "$*" "$plain"
  command "$@" || status=$?
  if [[ $status -ne $wanted ]]; then
    printf 'The demonstration has failed: exit status %d, expected %d.\n' "$status" "$wanted" >&2
    exit 1
  fi
}

say "1. An old store. A to-do app wrote it with the first version of its model."
run 0 coredata store info Done.sqlite

say "2. Today's app has the third version of the model. It refuses the store as it is, and says what differs."
run 1 done list Done.sqlite --no-migration
say "   The same question to the command, attribute by attribute."
run 1 coredata store match Done.sqlite Done.xcdatamodeld

say "3. The plan. Nothing is changed yet."
run 0 coredata migrate plan Done.sqlite Done.xcdatamodeld

say "4. The migration, with a backup beside the store."
coredata store export Done.sqlite --entity TSPItem >before.jsonl
run 0 coredata migrate run Done.sqlite Done.xcdatamodeld
coredata store export Done.sqlite --entity TSPItem >after.jsonl

say "5. The same rows: the exports before and after, compared value for value."
# What the new version calls isDone was called done, and two properties are new and empty.
sed -E 's/"isDone":/"done":/; s/,?"(list|updatedAt)":null//g' after.jsonl >after-as-before.jsonl
rows=$(wc -l <before.jsonl)
if cmp -s <(normal before.jsonl) <(normal after-as-before.jsonl); then
  echo "   $rows rows, all values equal"
else
  echo "   The rows differ." >&2
  exit 1
fi

say "6. The app opens it now, and uses what the new version brought."
run 0 done add Done.sqlite "Show the migration to Nora" --list Work
run 0 done list Done.sqlite --open --limit 5
