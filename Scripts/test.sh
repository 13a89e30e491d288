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
# Minutes without output after which the run is ended.
patience=15

# Prints what a run is doing that has printed nothing for long: the last lines, its processes, and where its threads are.
#   $1 the process of the tests
show_stall() {
  echo "Nothing has been printed for $patience minutes. The last lines:"
  tail -n 20 "$log" | cut -c 1-300
  ps -e -o pid,ppid,etimes,stat,args --forest | grep -v '\[.*\]$' | cut -c 1-200 | tail -n 60
  if command -v gdb >/dev/null; then
    timeout 300 gdb --batch --pid "$1" -ex 'thread apply all backtrace 25' 2>&1
  else
    timeout 300 lldb --batch --attach-pid "$1" -o 'thread backtrace all --count 25' 2>&1
  fi | grep -E '^(Thread|#| *frame|\* thread|  thread)' | cut -c 1-200 | tail -n 1000
}

# Prints the tests that have begun and not ended, of a run that did not come to its end.
unfinished_tests() {
  awk '
    /^◇ Test case|Test run/ { next }
    /^◇ Test / { sub(/^◇ Test /, ""); sub(/ started\.$/, ""); open[$0]++ }
    /^(✔|✘|━) Test .* (passed|failed) after / { sub(/^(✔|✘|━) Test /, ""); sub(/ (with [0-9]+ test cases? )?(passed|failed) after .*/, ""); open[$0]-- }
    END { for (test in open) if (open[test] > 0) print "  " test }' "$log" | sort | head -n 60
}

# Ends a run that prints nothing for long, since continuous integration would end it without a word.
watch_tests() {
  local size before=-1 quiet=0 process
  while sleep 60; do
    size=$(wc -c <"$log")
    if [[ $size != "$before" ]]; then quiet=0; else quiet=$((quiet + 1)); fi
    before=$size
    # While the tests are built, none of these processes is there.
    process=$(pgrep -o -s 0 -f 'PackageTests\.xctest .*--testing-library swift-testing') || quiet=0
    if [[ $quiet -ge $patience ]]; then
      show_stall "$process"
      kill -KILL "$process"
      return
    fi
  done
}
: >"$log"
watch_tests &
watcher=$!
trap 'pkill -P "$watcher"; kill "$watcher" 2>/dev/null' EXIT

swift test "$@" 2>&1 | tee "$log" | awk '
  function shown(line) { return length(line) > 600 ? substr(line, 1, 600) "…" : line }
  function say(line) { print shown(line); fflush() }
  # srand() sets the seed to the time, and returns the seed before.
  function seconds() { srand(); return srand() }
  !running && /^\[[0-9]+\/[0-9]+\]/ { next }
  /^◇ Test run started/ { running = 1; begun = seconds() }
  !running { say($0); next }
  # All tests begin before the first one ends.
  /^◇ Test / && ++entered % 1000 == 0 { say(entered " tests and cases begun after " int((seconds() - begun) / 60) " minutes") }
  !/^✔ Test case/ && /^✔ Test / && ++passed % 250 == 0 { say(passed " tests passed after " int((seconds() - begun) / 60) " minutes") }
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
  if grep -aq '^◇ Test run started' "$log" && ! grep -aq 'Test run with' "$log"; then
    echo "The run did not come to its end. These tests had begun and not ended:"
    unfinished_tests
  fi
fi
exit "${status[0]}"
