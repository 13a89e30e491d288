#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Writes stores, reads them, damages them in several ways, and expects that reading finds each damage.
# EXCHANGE names the program, as a build has left it.
set -euo pipefail

: "${EXCHANGE:?names the program exchange}"
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

fail() {
  printf 'Conformance: %s\n' "$1" >&2
  exit 1
}

"$EXCHANGE" write "$directory/stores" >"$directory/out"
# Reading changes nothing, so that it can be done again.
"$EXCHANGE" read "$directory/stores" >>"$directory/out" || { cat "$directory/out" >&2; fail 'reading failed.'; }
"$EXCHANGE" read "$directory/stores" >>"$directory/out" || fail 'reading a second time failed.'
if "$EXCHANGE" write "$directory/stores" >"$directory/refusal"; then
  fail 'stores were written over others.'
fi

# finds TEXT COMMAND... damages a copy of the stores by a command, and expects a difference with the text.
finds() {
  local text=$1
  shift
  rm -rf "$directory/copy"
  cp -R "$directory/stores" "$directory/copy"
  (cd "$directory/copy" && "$@")
  if "$EXCHANGE" read "$directory/copy" >"$directory/found" 2>&1; then
    fail "this damage was not found: $*"
  fi
  grep -q "$text" "$directory/found" || { cat "$directory/found" >&2; fail "no difference is called \"$text\": $*"; }
}

# replace FILE OLD NEW replaces bytes by as many others.
replace() {
  LC_ALL=C sed "s|$2|$3|" "$1" >"$1.new"
  cmp -s "$1" "$1.new" && fail "$1 does not contain $2"
  mv "$1.new" "$1"
}

# shorten FILE leaves its first pages.
shorten() {
  head -c 8192 "$1" >"$1.new"
  mv "$1.new" "$1"
}

finds 'Item item0.text' replace everything.sqlite 'text, Grü' 'TEXT, Grü'
finds 'Memo note7.body' replace migrated.sqlite 'text 7' 'text 8'
finds 'history' replace manifest.json 'update Item songs' 'update Item image'
finds 'the hash of Memo' replace manifest.json '"Memo" : "' '"Memo" : "0'
finds 'Song song2.playlists' replace manifest.json '"playlists" : "{item0, item1}"' '"playlists" : "{item0}"'
finds 'everything.sqlite' shorten everything.sqlite
finds 'is no name of a file' replace manifest.json '"migrated.sqlite"' '"../migrated.sqlite"'
finds 'is not there' rm migrated.sqlite
finds 'image' find . -path '*_SUPPORT*' -type f -delete

printf 'Conformance: stores were written and read, and nine damages found.\n'
