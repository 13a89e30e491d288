#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Compiles the policy to a library that `coredata migrate run --policies` loads. A library uses the classes of the tool, and
# is built with the modules of that very tool.
#
#   library.sh MODULES LIBRARY   with the modules beside the tool, .build/debug/Modules
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

maps=()
for library in CSQLite CZlib CSwiftRuntime; do
  map=$(find "../../Sources/$library" -name module.modulemap)
  maps+=(-Xcc "-fmodule-map-file=$map")
done
name=$(basename "$2" .so)
swiftc -emit-library -module-name "${name#lib}" -I "$1" "${maps[@]}" Sources/SplitName.swift -o "$2"
