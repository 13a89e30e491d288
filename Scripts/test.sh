#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs `swift test` with the arguments given, and prints what a person needs: warnings and errors of the build, tests that are
# skipped or fail, and the result. The whole output is in .build/test.log. Failures are printed again at the end, where
# they are seen.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# What is printed is "Swift version 6.0.3 (…)", or "Apple Swift version …".
version=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([0-9]+\.[0-9]+).*/\1/p' | head -n 1)
if [[ $(printf '%s\n' 6.2 "$version" | sort -V | head -n 1) != 6.2 ]]; then
  echo "The tests need Swift 6.2 or later; this is Swift ${version:-of an unknown version}. The library, the tool, the examples and \"make demo\""
  echo "need 6.0. \"Scripts/other-swift.sh here\" tries them, and runs those tests that this Swift can compile."
  exit 1
fi

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
