#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Puts the tool where it is used from, with its manual page and the completions of three shells.
#
#   package.sh install TOOL PREFIX   into PREFIX (bin, share/man, ...), below DESTDIR if that is set
#   package.sh check-prefix PREFIX   makes sure that PREFIX can be written to, before something is built for it
#   package.sh check                 makes sure that `dist` will find its programs, before something is built for it
#   package.sh dist TOOL FOLDER      a .tar.gz and, where dpkg-deb is, a .deb in FOLDER; says what they contain. The same
#                                    tool and commit give the same files
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'package: %s.\n' "$*" >&2
  exit 1
}

# Writes the tool and what belongs to it below a prefix.
stage() {
  local tool=$1 prefix=$2
  install -D -m 755 "$tool" "$prefix/bin/coredata"
  install -d "$prefix/share/man/man1" "$prefix/share/bash-completion/completions" \
    "$prefix/share/zsh/site-functions" "$prefix/share/fish/vendor_completions.d"
  "$tool" manual > "$prefix/share/man/man1/coredata.1"
  "$tool" completions bash > "$prefix/share/bash-completion/completions/coredata"
  "$tool" completions zsh > "$prefix/share/zsh/site-functions/_coredata"
  "$tool" completions fish > "$prefix/share/fish/vendor_completions.d/coredata.fish"
}

# The libraries that the tool itself loads, as Debian's packages.
dependencies() {
  local library path package
  needed "$1" | while read -r library; do
    path=$(ldd "$1" | awk -v name="$library" '$1 == name { print $3 }')
    [[ -n $path ]] || continue
    package=$(dpkg-query --search "$(readlink -f "$path")" 2>/dev/null || dpkg-query --search "*/$library" 2>/dev/null) ||
      fail "$1 loads $path, which belongs to no Debian package, so a .deb would not run elsewhere"
    printf '%s\n' "${package%%:*}"
  done | sort -u | while read -r package; do
    if [[ $package == libc6 ]]; then printf 'libc6 (>= %s)\n' "$(oldest_glibc "$1")"; else printf '%s\n' "$package"; fi
  done | paste -sd, | sed 's/,/, /g'
}

# Copies the libraries that a system may not have: libxml2, by which Foundation reads XML, and what it needs in turn. The
# tool looks for them there first.
bundle() {
  mkdir -p "$2"
  # Without them the program would start on this system only.
  if ldd "$1" | grep 'not found' >&2; then fail "libraries of $1 are missing"; fi
  ldd "$1" | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
    case $(basename "$library") in
      libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.*) ;;
      *) install -m 644 "$(readlink -f "$library")" "$2/$(basename "$library")" ;;
    esac
  done
}

# Adds the licenses of the libraries in the directory $1, as Debian has them, to the directory $2.
add_licenses() {
  local library package
  for library in "$1"/*; do
    package=$(dpkg-query --search "*/$(basename "$library")" 2>/dev/null | head -n 1 | cut -d : -f 1) || continue
    if [[ -f /usr/share/doc/$package/copyright ]]; then
      install -D -m 644 "/usr/share/doc/$package/copyright" "$2/$package"
    fi
  done
}

# What the .tar.gz contains, for a person.
describe() {
  local file=$1 library
  printf '%s contains\n' "$(basename "$file")"
  tar -tvzf "$file" | awk '!/\/$/ { sub(/^[^\/]*\//, "", $6); printf "  %8.2f MB  %s\n", $3 / 1000000, $6 }'
  printf '  linked into the tool:'
  for library in swiftCore:Swift Foundation:Foundation sqlite3:SQLite z:zlib; do
    loads "$2" "lib${library%%:*}.so" || printf ' %s' "${library#*:}"
  done
  printf '\n  loaded from the system: %s\n' "$(loaded_from_system "$2" | paste -sd ' ')"
}

# Whether a program loads a library, named without its number.
loads() { grep -q "^${2//./\\.}" <<<"$(needed "$1")"; }

needed() { objdump --private-headers "$1" | awk '$1 == "NEEDED" { print $2 }'; }

loaded_from_system() { needed "$1" | grep -E '^(libc|libm|libstdc\+\+|libgcc_s|ld-linux.*)\.so' | sort; }

check_prefix() {
  local place=$1
  until [[ -e $place ]]; do place=$(dirname "$place"); done
  [[ -d $place && -w $place ]] ||
    fail "$place cannot be written to; choose another place, such as PREFIX=\$HOME/.local, or use sudo"
}

check() {
  local program missing=()
  for program in objdump ldd tar gzip; do
    command -v "$program" >/dev/null || missing+=("$program")
  done
  if ((${#missing[@]} > 0)); then fail "packages cannot be made without: ${missing[*]} (Debian has objdump in binutils)"; fi
  if ! command -v dpkg-deb >/dev/null; then
    printf 'package: there is no dpkg-deb, so only the .tar.gz is made.\n' >&2
  fi
}

oldest_glibc() { objdump --dynamic-syms "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'; }

dist() {
  local tool=$1 folder=$2 version architecture name scratch
  check 2>/dev/null
  # shellcheck source=Scripts/project.env
  source Scripts/project.env
  version=$(Scripts/project.sh version)
  [[ $("$tool" --version) == "coredata $version" ]] || fail "$tool is not of version $version; build it anew"
  architecture=$(uname -m)
  # The time of the files in packages.
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
  export SOURCE_DATE_EPOCH
  name=coredata-$version-linux-$architecture
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  mkdir -p "$folder"

  stage "$tool" "$scratch/$name"
  bundle "$tool" "$scratch/$name/lib/coredata"
  add_licenses "$scratch/$name/lib/coredata" "$scratch/$name/licenses"
  cp LICENSE CHANGELOG.md "$scratch/$name"
  # Those of earlier versions would be installed and published beside these.
  rm -f "$folder"/coredata-*.tar.gz "$folder"/coredata_*.deb
  tar -cf - --owner=0 --group=0 --numeric-owner --mode=go-w --sort=name --mtime="@$SOURCE_DATE_EPOCH" \
    -C "$scratch" "$name" | gzip -9n > "$folder/$name.tar.gz"
  describe "$folder/$name.tar.gz" "$tool"

  if ! command -v dpkg-deb > /dev/null; then return; fi
  local root=$scratch/deb depends
  depends=$(dependencies "$tool")
  stage "$tool" "$root/usr"
  # Debian keeps these elsewhere than other systems.
  mkdir -p "$root/usr/share/zsh/vendor-completions" "$root/usr/share/doc/coredata" "$root/DEBIAN"
  mv "$root/usr/share/zsh/site-functions/_coredata" "$root/usr/share/zsh/vendor-completions"
  rmdir "$root/usr/share/zsh/site-functions"
  gzip -9n "$root/usr/share/man/man1/coredata.1"
  cp LICENSE "$root/usr/share/doc/coredata/copyright"
  gzip -9nc CHANGELOG.md > "$root/usr/share/doc/coredata/changelog.gz"
  cat > "$root/DEBIAN/control" <<CONTROL
Package: coredata
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: $PROJECT_MAINTAINER
Installed-Size: $(du --summarize --block-size=1024 "$root/usr" | cut -f1)
Depends: $depends
Suggests: libpq5
Section: database
Priority: optional
Homepage: $PROJECT_REPOSITORY
Description: inspects Core Data models and stores, and migrates stores
 Judges what a changed model does to every shipped version, migrates stores with
 a backup, verifies and repairs them, and compares, exports and reports them.
 The runtime of Swift is inside.
CONTROL
  dpkg-deb --root-owner-group --build "$root" "$folder/coredata_${version}_$(dpkg --print-architecture).deb" > /dev/null
  (cd "$folder" && stat --format '%n %s' -- *.tar.gz *.deb) | awk '{ printf "%s  %.1f MB\n", $1, $2 / 1000000 }'
}

case ${1:-} in
  install) stage "$2" "${DESTDIR:-}$3" ;;
  check-prefix) check_prefix "$2" ;;
  check) check ;;
  dist) dist "$2" "$3" ;;
  *) fail 'say install TOOL PREFIX, check-prefix PREFIX, check, or dist TOOL FOLDER' ;;
esac
