#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Checks corpus.sh with a repository of its own: files of two versions are fetched, and a file that is gone, one with
# another sum, a repository that is not there and a path out of the directory are refused.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
  printf 'corpus-check: %s\n' "$1" >&2
  cat "$work/out" >&2
  exit 1
}

commit() {
  git -C "$work/base/owner/name" add --all
  git -C "$work/base/owner/name" -c user.name=check -c user.email=check@example.invalid commit --quiet --message x
}

# A line of the list for the file as it is now.
line() {
  local path="$work/base/owner/name/$2" sum
  sum=$(sha256sum "$path" 2>/dev/null || shasum -a 256 "$path")
  printf '%s %s %s %s\n' "$1" "$(git hash-object --no-filters "$path")" "${sum%% *}" "$2"
}

corpus() {
  CORPUS_BASE=file://$work/base CORPUS_LIST=$work/list ./corpus.sh "$work/corpus" >"$work/out" 2>&1
}

mkdir -p "$work/base/owner/name/a folder"
git init --quiet "$work/base/owner/name"
git -C "$work/base/owner/name" config core.autocrlf false
printf 'one\n' >"$work/base/owner/name/a folder/model"
commit
line _history/01234567 'a folder/model' >"$work/lines"
printf 'two\r\n' >"$work/base/owner/name/a folder/model"
commit
line - 'a folder/model' >>"$work/lines"
{ printf 'repository owner/name\n' && cat "$work/lines"; } >"$work/list"

corpus || fail 'fetching failed.'
grep -q '^2 files were fetched, 0 were there' "$work/out" || fail 'two files were expected.'
[[ $(cat "$work/corpus/owner__name/_history/01234567/a folder/model") == one ]] || fail 'the older version differs.'
cmp -s "$work/corpus/owner__name/a folder/model" "$work/base/owner/name/a folder/model" || fail 'the newest differs.'
[[ -f $work/corpus/README.md ]] || fail 'the tests would not find the directory.'

printf 'damaged\n' >"$work/corpus/owner__name/a folder/model"
corpus || fail 'fetching again failed.'
grep -q '^1 files were fetched, 1 were there' "$work/out" || fail 'one file was expected again.'

# refused WORDS SCRIPT... changes the list, and expects that fetching into a new directory fails with these words.
refused() {
  rm -rf "$work/corpus"
  { printf 'repository owner/name\n' && sed "$2" "$work/lines"; } >"$work/list"
  if corpus; then fail "this was not refused: $1"; fi
  grep -q "$1" "$work/out" || fail "the output does not say: $1"
  [[ ! -f $work/corpus/README.md ]] || fail 'the tests would use a directory that is not complete.'
}

refused 'is not in the repository any more' '2s/^- ......../- 00000000/'
refused 'its SHA-256 is not that of the list' '2s/ [0-9a-f]\{64\} / 0000000000000000000000000000000000000000000000000000000000000000 /'
refused 'this line cannot be read' '2s/a folder/../'
mv "$work/base/owner/name" "$work/base/owner/other"
refused 'is not in the repository any more' ''
printf 'Scripts/corpus.sh: files were fetched and checked, and four wrong lists refused.\n'
