#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# corpus.sh DIR fetches the models and stores of public projects that some tests need, into a directory for
# COREDATA_FIXTURES. Scripts/corpus/README.md describes the list. Files that are there already are kept, so that an
# interrupted run can be repeated.
#
#   CORPUS_BASE   where the repositories are, by default https://github.com; a directory of mirrors as file:///...
#   CORPUS_LIST   the list, by default Scripts/corpus/files.txt
set -euo pipefail

if (($# != 1)); then
  printf 'usage: %s DIR\n' "$0" >&2
  exit 2
fi
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
base=${CORPUS_BASE:-https://github.com}
list=${CORPUS_LIST:-$here/corpus/files.txt}
mkdir -p "$1"
directory=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if command -v sha256sum >/dev/null; then
  sum() { sha256sum "$1" | cut -d' ' -f1; }
else
  sum() { shasum -a 256 "$1" | cut -d' ' -f1; }
fi

# The place of a file in the directory.
target() {
  local folder=${repository/\//__}
  if [[ $1 == - ]]; then printf '%s/%s/%s' "$directory" "$folder" "$2"; else
    printf '%s/%s/%s/%s' "$directory" "$folder" "$1" "$2"
  fi
}

# Fetches the blobs named in a file, without the rest of the repository where the server can leave it out.
fetch() {
  git init --quiet --bare "$work/git"
  git -C "$work/git" remote add origin "$base/$repository"
  git -C "$work/git" config remote.origin.promisor true
  git -C "$work/git" config remote.origin.partialclonefilter blob:none
  if ! git -C "$work/git" fetch --quiet --no-tags --no-write-fetch-head --filter=blob:none --stdin origin \
    <"$1" 2>"$work/messages"; then
    if ! git -C "$work/git" fetch --quiet --no-filter origin '+refs/*:refs/*' 2>>"$work/messages"; then
      sed 's/^/  /' "$work/messages" >&2
    fi
  fi
}

fetched=0 kept=0 missing=0

# Fetches what is missing of the repository whose lines are in $work/lines.
complete() {
  local place blob expected path file
  [[ -s $work/lines ]] || return 0
  : >"$work/wanted"
  : >"$work/blobs"
  while read -r place blob expected path; do
    # A path from the list stays in the directory.
    if [[ /$path/ == */../* || ! $place =~ ^(-|_(history|snap)/[0-9a-f]{8})$ ]]; then
      printf 'corpus: this line cannot be read: %s %s\n' "$place" "$path" >&2
      exit 2
    fi
    file=$(target "$place" "$path")
    if [[ -f $file && $(sum "$file") == "$expected" ]]; then
      kept=$((kept + 1))
    else
      printf '%s %s %s %s\n' "$place" "$blob" "$expected" "$path" >>"$work/wanted"
      printf '%s\n' "$blob" >>"$work/blobs"
    fi
  done <"$work/lines"
  [[ -s $work/wanted ]] || return 0

  printf '%s\n' "$repository"
  sort -u -o "$work/blobs" "$work/blobs"
  fetch "$work/blobs"
  while read -r place blob expected path; do
    if ! GIT_NO_LAZY_FETCH=1 git -C "$work/git" cat-file blob "$blob" >"$work/file" 2>/dev/null; then
      printf '  %s: is not in the repository any more\n' "$path" >&2
      missing=$((missing + 1))
    elif [[ $(sum "$work/file") != "$expected" ]]; then
      printf '  %s: its SHA-256 is not that of the list\n' "$path" >&2
      missing=$((missing + 1))
    else
      file=$(target "$place" "$path")
      mkdir -p "$(dirname "$file")"
      cp "$work/file" "$file"
      fetched=$((fetched + 1))
    fi
  done <"$work/wanted"
  rm -rf "$work/git"
}

: >"$work/lines"
repository=
while IFS= read -r line; do
  if [[ $line == 'repository '* ]]; then
    complete
    : >"$work/lines"
    repository=${line#repository }
    if [[ ! $repository =~ ^[A-Za-z0-9._-]+/[A-Za-z0-9._-]+$ ]]; then
      printf 'corpus: this is no repository: %s\n' "$repository" >&2
      exit 2
    fi
  else
    printf '%s\n' "$line" >>"$work/lines"
  fi
done <"$list"
complete

printf '%d files were fetched, %d were there, %d are missing.\n' "$fetched" "$kept" "$missing"
cp "$here/corpus/version-hashes.json" "$directory/version-hashes.json"
if ((missing > 0)); then
  printf 'Without %s/README.md, the tests are skipped; with it, those that count files fail.\n' "$directory" >&2
  exit 1
fi
printf 'Models and stores of public projects, fetched by Scripts/corpus.sh of OpenCoreData.\n' >"$directory/README.md"
printf 'Run the tests with COREDATA_FIXTURES=%s\n' "$directory"
