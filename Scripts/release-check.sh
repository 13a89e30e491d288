#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs the long checks before a release, and keeps their figures. `make release-check` calls it.
#
#   Scripts/release-check.sh run [CHECK...]     runs address, threads, torture, fuzz and swift, or those named, one after the other
#   Scripts/release-check.sh report             prints the figures of the last run of each check as a table
#   Scripts/release-check.sh report --write     puts the table into Documentation/Reliability.md
#
# A check that fails does not stop the others; the exit status is then 1. Each check leaves its output in
# .build/release-check/CHECK.log and its figures in CHECK.figures, so that checks can run on different days or machines.
# FUZZ holds arguments of the fuzzer, as for `make fuzz`.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

checks=(address threads torture fuzz swift)
place=${COREDATA_RELEASE_CHECK:-.build/release-check}
page=Documentation/Reliability.md

title() {
  case $1 in
    address) echo "Address sanitizer (and Clang's undefined-behavior checks for C), all tests" ;;
    threads) echo "Thread sanitizer, all tests" ;;
    torture) echo "\`make torture\`" ;;
    fuzz) echo "\`make fuzz\`" ;;
    swift) echo "Swift 6.0.3 of Debian 13 (\`Scripts/other-swift.sh\`)" ;;
  esac
}

target() {
  case $1 in
    address) echo sanitize-all ;;
    threads) echo sanitize-threads-all ;;
    torture) echo torture ;;
    fuzz) echo fuzz ;;
    swift) echo other-swift ;;
    *)
      echo "There is no check \"$1\". Name some of: ${checks[*]}." >&2
      exit 2
      ;;
  esac
}

# The counts in the output of a check. An empty text means that the check did not reach its end.
counts() {
  local log=$place/$1.log
  case $1 in
    fuzz)
      grep -oE '^[0-9]+ inputs in [0-9]+ seconds; [0-9]+ findings' "$log" | tail -n 1 || true
      ;;
    *)
      # Swift Testing ends with "Test run with 2461 tests in 380 suites passed after 12.3 seconds", or "failed after".
      local tests calls
      tests=$(grep -oE 'Test run with [0-9]+ tests?( in [0-9]+ suites?)? (passed|failed)( after [0-9.]+ seconds)?( with [0-9]+ issues?)?' \
        "$log" | tail -n 1 | sed -E 's/^Test run with //; s/ after [0-9.]+ seconds//' || true)
      calls=
      if [[ $1 == torture ]]; then
        # "torture: inPlace: 84 calls, 60 refused, 24 done all the same" and "…, 90 killed, 45 old, 45 new"
        calls=$(awk '/^torture: / {
            for (i = 2; i < NF; i++) {
              if ($(i + 1) ~ /^(refused|done)/) refused += $i
              if ($(i + 1) ~ /^killed/) killed += $i
            }
          }
          END { if (killed) printf "; %d failed file system calls, %d killed processes", refused, killed }' "$log")
      fi
      echo "$tests$calls"
      ;;
  esac
}

commit() {
  local name
  name=$(git rev-parse --short=10 HEAD 2>/dev/null || echo unknown)
  # What the checks are about has no changes that the commit lacks; documents may have some.
  if [[ -n $(git status --porcelain -- Sources Tests Package.swift 2>/dev/null) ]]; then name+=" with changes"; fi
  echo "$name"
}

run() {
  mkdir -p "$place"
  local check failed=() wanted=("$@")
  if ((${#wanted[@]} == 0)); then wanted=("${checks[@]}"); fi
  for check in "${wanted[@]}"; do target "$check" >/dev/null; done
  for check in "${wanted[@]}"; do
    local began status=passed found
    began=$(date +%s)
    rm -f "$place/$check.figures"
    echo "== $check: make $(target "$check"); output in $place/$check.log"
    if ! make "$(target "$check")" >"$place/$check.log" 2>&1; then status=failed; fi
    found=$(counts "$check")
    # A check whose end is not in its output has checked nothing that is known.
    if [[ -z $found ]]; then
      status=failed
      found="did not reach its end"
    fi
    printf '%s\n' "$status" "$found" "$(($(date +%s) - began))" "$(date -u +%F)" "$(commit)" \
      "$(nproc 2>/dev/null || echo 1) cores, $(uname -sm)" >"$place/$check.figures"
    if [[ $status == failed ]]; then
      failed+=("$check")
      tail -n 40 "$place/$check.log"
    fi
    echo "== $check $status: $found"
  done
  report
  if ((${#failed[@]} > 0)); then
    echo "Failed: ${failed[*]}." >&2
    exit 1
  fi
}

duration() { printf '%d:%02d h' $(($1 / 3600)) $(($1 % 3600 / 60)); }

report() {
  echo "| check | result | counts | with its build | date | commit | machine |"
  echo "| --- | --- | --- | ---: | --- | --- | --- |"
  local check
  for check in "${checks[@]}"; do
    if [[ -f $place/$check.figures ]]; then
      local figures
      mapfile -t figures <"$place/$check.figures"
      echo "| $(title "$check") | ${figures[0]} | ${figures[1]} | $(duration "${figures[2]}") | ${figures[3]} | ${figures[4]} | ${figures[5]} |"
    else
      echo "| $(title "$check") | not run |  |  |  |  |  |"
    fi
  done
}

write() {
  local table
  table=$(mktemp)
  report >"$table"
  awk -v table="$table" '
    /<!-- release-check: begin -->/ { print; while ((getline line < table) > 0) print line; skips = 1; found = 1 }
    /<!-- release-check: end -->/ { skips = 0 }
    !skips { print }
    END { if (!found) exit 1 }
  ' "$page" >"$page.new" || {
    rm -f "$page.new" "$table"
    echo "$page has no line <!-- release-check: begin -->." >&2
    exit 1
  }
  mv "$page.new" "$page"
  rm -f "$table"
  echo "$page has the figures now."
}

case ${1:-} in
  run) run "${@:2}" ;;
  report) if [[ ${2:-} == --write ]]; then write; else report; fi ;;
  *)
    sed -n '6,8p' "${BASH_SOURCE[0]}" | sed 's/^#   //' >&2
    exit 2
    ;;
esac
