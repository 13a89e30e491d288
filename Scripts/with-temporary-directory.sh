#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command with a temporary directory of its own, and removes it afterwards. SwiftPM leaves a directory in TMPDIR at
# each call, and a test whose process traps, as some must, cannot remove its files. If the command fails, the directory stays
# (failed migrations keep their stores there), and is named. Arguments: the command.
set -euo pipefail

TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/coredata-XXXXXX")
export TMPDIR
# As for /tmp: a test may act as another user.
chmod 1777 "$TMPDIR"
# Interrupted: nobody will look at the files.
trap 'rm -rf "$TMPDIR"; exit 130' INT
trap 'rm -rf "$TMPDIR"; exit 143' TERM HUP

status=0
"$@" || status=$?
if [[ $status == 0 ]]; then
  rm -rf "$TMPDIR"
else
  printf 'The temporary files are kept in %s.\n' "$TMPDIR" >&2
fi
exit "$status"
