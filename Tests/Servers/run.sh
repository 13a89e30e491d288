#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs the programs of this directory one after the other, and says which failed.
#
#   Tests/Servers/run.sh PROGRAM [NAME...]     SHORT=yes runs them with small numbers
set -euo pipefail

program=$1
shift
declare -A arguments=(
  [pooler]='--saves 10000' [backends]='--minutes 10' [commits]='--minutes 10' [restarts]='--minutes 10'
  [failover]='--minutes 10' [rolling]='--rows 1000000' [fairness]='--seconds 60'
)
[[ -z ${SHORT:-} ]] || arguments=(
  [pooler]='--saves 1000' [backends]='--minutes 1' [commits]='--minutes 1' [restarts]='--minutes 1'
  [failover]='--minutes 1' [rolling]='--rows 20000' [fairness]='--seconds 60'
)
names=("$@")
[[ ${#names[@]} -gt 0 ]] || names=(pooler backends commits restarts failover rolling fairness)
failed=()
for name in "${names[@]}"; do
  [[ -v arguments[$name] ]] || { printf 'There is no program %s.\n' "$name" >&2; exit 2; }
  printf '== %s %s\n' "$name" "${arguments[$name]}"
  # The options are words.
  # shellcheck disable=SC2086
  "$program" "$name" ${arguments[$name]} || failed+=("$name")
done
[[ ${#failed[@]} -eq 0 ]] && exit 0
printf 'Failed: %s\n' "${failed[*]}" >&2
exit 1
