#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Puts the tool where it is used from, with its manual page and the completions of three shells.
#
#   package.sh install TOOL PREFIX   into PREFIX (bin, share/man, ...), below DESTDIR if that is set
#   package.sh dist TOOL FOLDER      a .tar.gz and a .deb in FOLDER
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
  objdump --private-headers "$1" | awk '$1 == "NEEDED" { print $2 }' | while read -r library; do
    path=$(ldd "$1" | awk -v name="$library" '$1 == name { print $3 }')
    [[ -n $path ]] || continue
    package=$(dpkg-query --search "$(readlink -f "$path")" 2>/dev/null || dpkg-query --search "*/$library")
    printf '%s\n' "${package%%:*}"
  done | sort -u | while read -r package; do
    if [[ $package == libc6 ]]; then printf 'libc6 (>= %s)\n' "$(oldest_glibc "$1")"; else printf '%s\n' "$package"; fi
  done | paste -sd, | sed 's/,/, /g'
}

# Copies the libraries that a system may not have: libxml2, by which Foundation reads XML, and what it needs in turn. The
# tool looks for them there first.
bundle() {
  mkdir -p "$2"
  ldd "$1" | awk '$3 ~ "^/" { print $3 }' | while read -r library; do
    case $(basename "$library") in
      libc.so.* | libm.so.* | libstdc++.so.* | libgcc_s.so.*) ;;
      *) install -m 644 "$(readlink -f "$library")" "$2/$(basename "$library")" ;;
    esac
  done
}

oldest_glibc() { objdump --dynamic-syms "$1" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | sed 's/GLIBC_//'; }

dist() {
  local tool=$1 folder=$2 version architecture name scratch
  version=$("$tool" --version | awk '{ print $2 }')
  architecture=$(uname -m)
  name=coredata-$version-linux-$architecture
  scratch=$(mktemp -d)
  # shellcheck disable=SC2064
  trap "rm -rf '$scratch'" EXIT
  mkdir -p "$folder"

  stage "$tool" "$scratch/$name"
  bundle "$tool" "$scratch/$name/lib/coredata"
  cp LICENSE CHANGELOG.md "$scratch/$name"
  tar -czf "$folder/$name.tar.gz" --owner=0 --group=0 --sort=name -C "$scratch" "$name"

  command -v dpkg-deb > /dev/null || fail 'dpkg-deb is missing; only the .tar.gz was made'
  local root=$scratch/deb
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
Maintainer: The OpenCoreData authors <opencoredata@users.noreply.github.com>
Installed-Size: $(du --summarize --block-size=1024 "$root/usr" | cut -f1)
Depends: $(dependencies "$tool")
Section: database
Priority: optional
Homepage: https://github.com/OpenCoreData/OpenCoreData
Description: inspects Core Data models and stores, and migrates stores
 Judges what a changed model does to every shipped version, migrates stores with
 a backup, verifies and repairs them, and compares, exports and reports them.
 The runtime of Swift is inside.
CONTROL
  dpkg-deb --root-owner-group --build "$root" "$folder/coredata_${version}_$(dpkg --print-architecture).deb" > /dev/null
  ls -l "$folder" | awk 'NR > 1 { printf "%s  %.1f MB\n", $9, $5 / 1000000 }'
}

case ${1:-} in
  install) stage "$2" "${DESTDIR:-}$3" ;;
  dist) dist "$2" "$3" ;;
  *) fail 'say install TOOL PREFIX, or dist TOOL FOLDER' ;;
esac
