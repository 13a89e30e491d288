#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# The rules of CONTRIBUTING.md that a machine can see and `swift format` can't: the length of files, their opening
# lines, `try?` without a reason, casts to `CocoaError`, errors made outside `…Errors` files, traps without a word in
# release builds, unfinished work, paths that exist on one machine only, hosts and owners, versions that contradict each
# other, and deviations that are not listed. Looks at all files that are tracked, or would be if they were added.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

findings=$(mktemp)
trap 'rm -f "$findings"' EXIT

# The files that match the given patterns and are there, each ended by a NUL.
files() {
  local file
  git ls-files -z --cached --others --exclude-standard -- "$@" | while IFS= read -r -d '' file; do
    # A file can be deleted and still be tracked.
    if [[ -f $file ]]; then printf '%s\0' "$file"; fi
  done
}

# Without the sources of an app in Examples/Moved, which are as their writer and Xcode left them.
sources() {
  files '*.swift' '*.h' '*.sh' '.ci/run' \
    ':!Examples/Moved/Sources/OrderBook/Model' ':!Examples/Moved/Tests/OrderBookTests/App'
}

# Runs awk over the files that come in on standard input, if there are any.
inspect() {
  xargs -0 -r awk "$@" >>"$findings"
}

# 600 lines, in tests 1,000.
sources | while IFS= read -r -d '' file; do
  limit=600
  [[ $file == Tests/* ]] && limit=1000
  lines=$(wc -l <"$file")
  if ((lines > limit)); then printf '%s: %d lines; the limit is %d\n' "$file" "$lines" "$limit" >>"$findings"; fi
done

# Two lines of comment, the project and the licence, and a blank one. A first line that a tool wants may stand above.
sources | while IFS= read -r -d '' file; do
  opening=$(head -n 4 "$file" | grep -vE '^(#!|// swift-tools-version)' | head -n 3 || true)
  if ! [[ $opening =~ ^(//|#)\ OpenCoreData[^$'\n']*$'\n'(//|#)\ SPDX-License-Identifier:\ Apache-2\.0($'\n'|$) ]]; then
    printf '%s:1: does not open with the project and the licence identifier\n' "$file" >>"$findings"
  fi
done

# `try?` needs a comment on its line, within two lines above, or on the line below; neighbours share one.
# Tests may remove their files without a word.
# What looks like a variable of the shell is awk's.
# shellcheck disable=SC2016
files '*.swift' ':!Examples/Moved/Sources/OrderBook/Model' ':!Examples/Moved/Tests/OrderBookTests/App' | inspect '
  function comment(text) { return text ~ /\/\// }
  function report() { if (waiting) print name ":" waiting ": try? without a reason beside it"; waiting = 0 }
  FNR == 1 { report(); name = FILENAME; reason = -9 }
  waiting { if (comment($0)) { waiting = 0; reason = FNR } else report() }
  FNR > 2 && comment($0) { reason = FNR }
  /(^|[^A-Za-z0-9_.])try\?/ && $0 !~ /^ *\/\// {
    if (name ~ /^Tests\// && /try\? [A-Za-z.]*removeItem/) next
    if (FNR - reason <= 2) reason = FNR; else waiting = FNR
  }
  END { report() }
'

# On Linux a cast to `CocoaError` succeeds for an `NSError` of any domain, and the domain is lost.
files '*.swift' '*.md' | inspect '
  /^ *\/\// { next }
  /(^|[^A-Za-z0-9_])(as[?!]?|is) +CocoaError([^A-Za-z0-9_.]|$)/ || /(catch|case) +CocoaError *[.(]/ ||
  /throws: *CocoaError/ {
    print FILENAME ":" FNR ": CocoaError matches errors of any domain; compare domain and code (NSError.isCocoa)"
  }
'

# Errors of the public interface are made in few places, so that one can see all that programs may get.
files 'Sources/CoreData*/*.swift' ':!Sources/*Errors*.swift' ':!Sources/CoreData/Errors' | inspect '
  /^ *\/\// { next }
  /NSError\(domain/ || /(^|[^A-Za-z0-9_)\]])(NSError)?\.cocoa\($/ || /NSError\.cocoa\(/ {
    print FILENAME ":" FNR ": makes an NSError; do so in an Errors file of the room"
  }
'

# Release builds leave out the texts of these; fatalError has one place, so that all mistakes are told in one way.
files 'Sources/*.swift' ':!Sources/CoreDataMistakes' | inspect '
  /^ *\/\// { next }
  /(^|[^A-Za-z0-9_.])(precondition|preconditionFailure|assert|assertionFailure|fatalError)\(/ {
    print FILENAME ":" FNR ": stops without a word in release builds; call trap (CoreDataMistakes)"
  }
'

# What is there is finished.
files '*.swift' '*.sh' | inspect '
  /\/\/.*(TODO|FIXME|XXX)/ || /fatalError\("?(not implemented|unimplemented)/ {
    print FILENAME ":" FNR ": unfinished work; do it, or open an issue"
  }
'

# Nothing tracked may name the place of this checkout, or a home folder.
place=$(git rev-parse --show-toplevel)
files | xargs -0 -r grep -InE '(^|[^A-Za-z0-9_.~/-])/(home|Users|root|work|workspace|builds)/[A-Za-z0-9_.-]' \
  -- /dev/null | sed 's/:\([0-9]*\):.*/:\1: path of one machine/' >>"$findings" || true
if [[ $place == /*/* ]]; then
  files | xargs -0 -r grep -InF -- "$place" /dev/null | sed 's/:\([0-9]*\):.*/:\1: path of this checkout/' \
    >>"$findings" || true
fi

# The address of the repository has one place, and the version another.
address='[a-z0-9-]+\.(com|org|net|io|dev)[/:][a-z0-9_.-]+/OpenCoreData|repository: *[a-z0-9_.-]+/OpenCoreData'
address+='|(^|[^a-z])(org|com|io)\.opencoredata|opencoredata\.(com|org|net|io|dev)|opencoredata@'
files ':!Scripts/project.env' ':!Scripts/house-rules.sh' | xargs -0 -r grep -InEi "$address" -- /dev/null |
  sed 's/:\([0-9]*\):.*/:\1: names a host or an owner; take it from Scripts\/project.env/' >>"$findings" || true
version=$(Scripts/project.sh version)
if ! grep -m 1 '^## ' CHANGELOG.md | grep -qE "^## ${version//./\\.}([^0-9.]|\$)"; then
  printf 'CHANGELOG.md: does not begin with version %s, which Sources/CoreDataCommand/Version.swift has\n' "$version" >>"$findings"
fi

# What differs from Apple is listed, under the name of the type whose file says so.
files 'Sources/*.swift' | xargs -0 -r grep -lZ 'Differs from Apple' | while IFS= read -r -d '' file; do
  type=$(basename "$file" .swift)
  if ! grep -qF "\`${type%%+*}" DEVIATIONS.md; then
    printf '%s: differs from Apple, and DEVIATIONS.md does not tell of %s\n' "$file" "${type%%+*}" >>"$findings"
  fi
done

if [[ -s $findings ]]; then
  sort -u "$findings" >&2
  printf '%d findings\n' "$(sort -u "$findings" | wc -l)" >&2
  exit 1
fi
