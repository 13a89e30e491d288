#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that SQLite and zlib can be compiled against. Says nothing when they can. Otherwise installs them where
# apt-get is there and may be used without asking, and in all other cases says what is missing and what to type.
# INSTALL=no keeps it from installing.
#
#   Scripts/system-libraries.sh          what every build needs
#   Scripts/system-libraries.sh static   what programs with Swift's runtime inside need too: libxml2, by which Foundation
#                                        reads XML, and pkg-config, by which the build finds the archives of SQLite and zlib
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

static=no
case ${1:-} in
  '') ;;
  static) static=yes ;;
  *)
    say "usage: Scripts/system-libraries.sh [static]"
    exit 2
    ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# The C compiler that comes with Swift, because that is the one which reads the headers in the build.
find_compiler() {
  local swift beside
  if ! swift=$(command -v swift); then
    say "Swift is missing. Install Swift 6.0 or later from https://www.swift.org/install, then try again."
    exit 1
  fi
  beside=$(dirname "$(readlink -f "$swift" 2>/dev/null || printf '%s' "$swift")")/clang
  if [[ -x $beside ]]; then
    compiler=$beside
  elif ! compiler=$(command -v clang || command -v cc); then
    say "No C compiler was found beside $swift, which can't link programs without one. Is the toolchain complete?"
    exit 1
  fi
}

# Whether a program that includes a header and calls a function of a library compiles and links.
#   $1 name of the pkg-config file   $2 linker flag   $3 C source
links() {
  local flags=$2
  if command -v pkg-config >/dev/null && pkg-config --exists "$1"; then
    flags=$(pkg-config --cflags --libs "$1")
  fi
  # The flags are a list of words.
  # shellcheck disable=SC2086
  printf '%s\n' "$3" | "$compiler" -x c - -o "$scratch/probe" $flags >"$scratch/log" 2>&1
}

find_missing() {
  missing=()
  links sqlite3 -lsqlite3 '#include <sqlite3.h>
int main(void) { return sqlite3_libversion_number() == 0; }' || missing+=(sqlite)
  links zlib -lz '#include <zlib.h>
int main(void) { return zlibVersion() == 0; }' || missing+=(zlib)
  if [[ $static == yes ]]; then
    links libxml-2.0 -lxml2 'void xmlCheckVersion(int version);
int main(void) { xmlCheckVersion(0); return 0; }' || missing+=(libxml2)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
  fi
}

# The names of the missing packages, as a system calls them.
#   $1 SQLite's name   $2 zlib's   $3 libxml2's   $4 pkg-config's
packages_named() {
  local library names=
  for library in "${missing[@]}"; do
    case $library in
    sqlite) names+="$1 " ;;
    zlib) names+="$2 " ;;
    libxml2) names+="$3 " ;;
    esac
  done
  # SwiftPM asks pkg-config where libraries are, and warns on every build without it.
  if ! command -v pkg-config >/dev/null; then names+="$4 "; fi
  printf '%s' "${names% }"
}

install_with_apt() {
  local -a packages as_root=() apt
  read -ra packages <<<"$(packages_named libsqlite3-dev zlib1g-dev libxml2-dev pkg-config)"
  if [[ $(id -u) -ne 0 ]]; then
    as_root=(sudo -n)
  fi
  if [[ ${INSTALL:-yes} == no ]] || ! "${as_root[@]}" true 2>/dev/null; then
    advise "${as_root[0]:+sudo }sh -c 'apt-get update && apt-get install -y ${packages[*]}'"
  fi
  say "Needed to build, and not installed: ${missing[*]}. Installing ${packages[*]} with apt-get."
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  # The list of packages of a bare system is empty or old.
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; } \
    >"$scratch/apt" 2>&1; then
    tail -n 20 "$scratch/apt" >&2
    say "apt-get could not install them; above is what it said."
    exit 1
  fi
  find_missing
  if [[ ${#missing[@]} -gt 0 ]]; then
    say "Installed, and yet a program can't be compiled against: ${missing[*]}. The compiler said:"
    tail -n 20 "$scratch/log" >&2
    exit 1
  fi
  say "Installed."
}

advise() {
  say "Needed to build, and not installed: ${missing[*]}. Type this, then try again:"
  say ""
  say "    $1"
  exit 1
}

find_compiler
find_missing
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! printf 'int main(void) { return 0; }\n' | "$compiler" -x c - -o "$scratch/probe" >"$scratch/log" 2>&1; then
  say "The compiler $compiler can't build an empty C program, so Swift programs can't be linked either."
  say "The requirements of the Swift toolchain are on https://www.swift.org/install. The compiler said:"
  tail -n 20 "$scratch/log" >&2
  exit 1
fi

if command -v apt-get >/dev/null; then
  install_with_apt
elif command -v dnf >/dev/null; then
  advise "sudo dnf install -y $(packages_named sqlite-devel zlib-devel libxml2-devel pkgconf-pkg-config)"
elif command -v yum >/dev/null; then
  advise "sudo yum install -y $(packages_named sqlite-devel zlib-devel libxml2-devel pkgconfig)"
elif command -v zypper >/dev/null; then
  advise "sudo zypper install $(packages_named sqlite3-devel zlib-devel libxml2-devel pkg-config)"
elif command -v pacman >/dev/null; then
  advise "sudo pacman -S --needed $(packages_named sqlite zlib libxml2 pkgconf)"
elif command -v apk >/dev/null; then
  advise "sudo apk add $(packages_named sqlite-dev zlib-dev libxml2-dev pkgconf)"
elif command -v brew >/dev/null; then
  advise "brew install $(packages_named sqlite zlib libxml2 pkg-config)"
else
  say "Needed to build, and not installed: ${missing[*]}."
  say "Install their development packages (SQLite 3 has sqlite3.h, zlib zlib.h, libxml2 libxml2.so), and pkg-config, then try again."
  exit 1
fi
