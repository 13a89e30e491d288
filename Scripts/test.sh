#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs `swift test` with the arguments given, and prints what a person needs: warnings and errors of the build, tests that are
# skipped or fail, and the result. The whole output is in .build/test.log. Failures are printed again at the end, where
# they are seen.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p .build
log=.build/test.log

swift test "$@" 2>&1 | tee "$log" | awk '
  function shown(line) { return length(line) > 600 ? substr(line, 1, 600) "…" : line }
  function say(line) { print shown(line); fflush() }
  !running && /^\[[0-9]+\/[0-9]+\]/ { next }
  /^◇ Test run started/ { running = 1 }
  !running { say($0); next }
  !/^✔ Test case/ && /^✔ Test / && ++passed % 250 == 0 { say(passed " tests passed so far") }
  /Test run with|^➜ / { say($0) }
  /^✘/ && !/Test run with/ { say($0) }
  { failing = /^✘/ || (failing && /^↳/); if (failing && /^↳/) say($0) }'
status=("${PIPESTATUS[@]}")

if [ "${status[0]}" != 0 ]; then
  echo "The tests failed (status ${status[0]}). All output: $PWD/$log"
  if grep -aq '^✘ Test' "$log"; then
    grep -aE '^✘ ' "$log" | cut -c 1-600 | tail -n 60
  else
    tail -n 40 "$log" | cut -c 1-600
  fi
fi
exit "${status[0]}"
