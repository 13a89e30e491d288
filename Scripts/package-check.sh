#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Installs the packages in bare systems without Swift, and uses the tool there: a store is migrated, verified and compared, and
# the workflows of Integrations run.
# Needs root and debootstrap. Arguments: the folder of the packages; the Debian suites (bookworm and trixie).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=$(cd "$1" && pwd)
suites=("${@:2}")
[[ ${#suites[@]} -gt 0 ]] || suites=(bookworm trixie)

fail() {
  printf 'package-check: %s.\n' "$*" >&2
  exit 1
}

command -v debootstrap > /dev/null || apt-get install --yes debootstrap > /dev/null || fail 'install debootstrap'

# What a user does who has a store and a model.
use() {
  cat << 'SCRIPT'
set -e
cd /work
coredata --version
coredata migrate run Done.sqlite Done.xcdatamodeld --quiet > run.txt
coredata store verify Done.sqlite Done.xcdatamodeld | tail -n 1
coredata store diff Done~.sqlite Done.sqlite | tail -n 1
coredata doctor Done.sqlite Done.xcdatamodeld | tail -n 1
SCRIPT
}

clean() {
  mountpoint --quiet "$root/proc" && umount "$root/proc"
  rm -rf --one-file-system "$root"
}

for suite in "${suites[@]}"; do
  root=$(mktemp -d)
  trap clean EXIT
  debootstrap --variant=minbase "$suite" "$root" > "$packages/debootstrap.log" 2>&1 ||
    fail "no bare $suite could be made: $(tail -n 1 "$packages/debootstrap.log")"
  rm -f "$packages/debootstrap.log"
  # A program finds the libraries beside it by the table of processes.
  mountpoint --quiet "$root/proc" || mount -t proc proc "$root/proc" || fail 'mounting a table of processes needs root'
  mkdir "$root/work"
  cp -R Examples/Done/Done.sqlite Examples/Done/Done.xcdatamodeld "$root/work"

  # The archive, which needs nothing to be installed.
  tar -xzf "$packages"/coredata-*-linux-*.tar.gz -C "$root/opt"
  chroot "$root" /bin/sh -c '/opt/coredata-*/bin/coredata --version' > /dev/null || fail "the .tar.gz does not run on $suite"

  cp "$packages"/*.deb "$root/tmp"
  # What the package depends on comes from Debian.
  chroot "$root" /bin/sh -c 'apt-get install --yes --no-install-recommends /tmp/*.deb' > /dev/null 2>&1 || fail "the .deb cannot be installed on $suite"
  chroot "$root" test ! -e /usr/bin/swift || fail "there is a Swift on $suite"
  echo "Debian $suite:"
  chroot "$root" /bin/sh -c "$(use)" | sed 's/^/  /' || fail "the tool does not work on $suite"
  Scripts/integrations-check.sh "$root" "$packages"/coredata-*-linux-*.tar.gz | sed 's/^/  /'
  clean
done
trap - EXIT
