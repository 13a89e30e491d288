#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs a command of SwiftPM without its lines of progress, which a file or a pipe would keep one below the other.
# Arguments: the command.
set -uo pipefail

if [[ -t 1 ]]; then exec "$@"; fi
"$@" | sed -uE '/^\[[0-9]+\/[0-9]+\]/d'
exit "${PIPESTATUS[0]}"
