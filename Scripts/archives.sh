#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Makes a folder with the archives of SQLite and zlib, and descriptions for pkg-config that lead there: a build with
# PKG_CONFIG_PATH set to the folder links the libraries into the program. Where a system has no archive, the program loads
# the shared library. Argument: the folder.
set -euo pipefail
mkdir -p "$1"
folder=$(cd "$1" && pwd)

# Arguments: the package's name for pkg-config, the library's name for the linker.
describe() {
  local place
  rm -f "$folder/$1.pc"
  for place in /usr/lib/*-linux-gnu /usr/lib64 /usr/lib; do
    [[ -f $place/lib$2.a ]] || continue
    ln -sfn "$place/lib$2.a" "$folder/lib$2.a"
    printf 'Name: %s\nDescription: %s as an archive\nVersion: 0\nLibs: -L%s -l%s\nCflags:\n' "$1" "$1" "$folder" "$2" \
      > "$folder/$1.pc"
    return
  done
}

describe sqlite3 sqlite3
describe zlib z
