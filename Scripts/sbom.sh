#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Prints what the released tool contains, as SPDX 2.3 in JSON: what is linked in, the libraries in its archive, and those that
# it loads from the system. Arguments: the tool; the archive for pkg-config that it was linked with (Scripts/archives.sh); the
# .tar.gz of the release.
set -euo pipefail
tool=$1 archives=$2 archive=$3
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=Scripts/project.env
source Scripts/project.env

version=$(Scripts/project.sh version)
name=$(basename "$archive" .tar.gz)
packages=() relations=()

inside=$(tar -tzf "$archive")
loaded=$(objdump --private-headers "$tool" | awk '$1 == "NEEDED" { print $2 }')
loads() { grep -q "^$1\.so" <<<"$loaded"; }

# The Debian package that a file belongs to, and its version; nothing where there is no dpkg.
package_of() { { dpkg-query --search "$1" 2>/dev/null || true; } | head -n 1 | cut -d : -f 1; }
version_of() { dpkg-query --show --showformat '${Version}' "$1"; }

# Arguments: identifier, name, version, license, relation to the tool, what is said of it.
add() {
  packages+=("{\"SPDXID\": \"SPDXRef-$1\", \"name\": \"$2\", \"versionInfo\": \"$3\", \"downloadLocation\": \"NOASSERTION\",
      \"filesAnalyzed\": false, \"licenseConcluded\": \"NOASSERTION\", \"licenseDeclared\": \"$4\",
      \"copyrightText\": \"NOASSERTION\", \"comment\": \"$6\"}")
  relations+=("{\"spdxElementId\": \"SPDXRef-coredata\", \"relationshipType\": \"$5\", \"relatedSpdxElement\": \"SPDXRef-$1\"}")
}

# A library of the C world. Arguments: identifier, name for pkg-config, name for the linker, license.
add_c_library() {
  local file package found relation=STATIC_LINK comment="linked into the tool"
  file=$(readlink -f "$archives/lib$3.a" || true)
  if loads "lib$3"; then
    relation=DYNAMIC_LINK comment="loaded from the archive of the release"
    file=$(ldd "$tool" | awk -v name="lib$3.so" 'index($1, name) == 1 { print $3; exit }')
  fi
  package=$(package_of "*/$(basename "$file")")
  if [[ -n $package ]]; then
    found=$(version_of "$package")
  else
    found=$(pkg-config --modversion "$2" 2>/dev/null || echo unknown)
  fi
  add "$1" "$1" "$found" "$4" "$relation" "$comment${package:+, of Debian package $package}"
}

swift=$(swift --version 2>/dev/null | sed -nE 's/.*Swift version ([^ ]+).*/\1/p' | head -n 1)
relation=STATIC_LINK comment="the standard library, Dispatch and Foundation, linked into the tool"
if loads libswiftCore; then relation=DYNAMIC_LINK comment="the standard library, Dispatch and Foundation, loaded"; fi
add swift "Swift runtime and Foundation" "${swift:-unknown}" "Apache-2.0 WITH Swift-exception" "$relation" "$comment"
add icu-of-foundation "ICU of swift-foundation-icu" "${swift:-unknown}" "Unicode-3.0" "$relation" "a part of Foundation"
add_c_library SQLite sqlite3 sqlite3 blessing
add_c_library zlib zlib z Zlib

# What lies in the archive beside the tool.
while read -r file; do
  library=$(basename "$file")
  if [[ $library == libsqlite3.so* || $library == libz.so* || $library == libswift* || $library == lib*Foundation* ]]; then continue; fi
  package=$(package_of "*/$library")
  found=unknown comment="in lib/coredata of the archive"
  if [[ -n $package ]]; then
    found=$(version_of "$package")
    comment+="; of Debian's package $package, whose license is in licenses/$package"
  fi
  add "${library//[^A-Za-z0-9.-]/-}" "$library" "$found" NOASSERTION CONTAINS "$comment"
done < <(grep '/lib/coredata/.' <<<"$inside")

while read -r library; do
  [[ -n $library ]] || continue
  if grep -q "/lib/coredata/$library\$" <<<"$inside"; then continue; fi
  add "${library//[^A-Za-z0-9.-]/-}" "$library" "of the system" NOASSERTION DYNAMIC_LINK "not in the archive"
done <<<"$loaded"

join() {
  local first=yes item
  for item in "$@"; do
    [[ $first == yes ]] || printf ',\n'
    printf '    %s' "$item"
    first=no
  done
  printf '\n'
}

created=$(date -u -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}" +%Y-%m-%dT%H:%M:%SZ)
cat <<JSON
{
  "spdxVersion": "SPDX-2.3",
  "dataLicense": "CC0-1.0",
  "SPDXID": "SPDXRef-DOCUMENT",
  "name": "$name",
  "documentNamespace": "$PROJECT_REPOSITORY/sbom/$name",
  "creationInfo": {"created": "$created", "creators": ["Tool: OpenCoreData-sbom.sh"]},
  "documentDescribes": ["SPDXRef-coredata"],
  "packages": [
    {"SPDXID": "SPDXRef-coredata", "name": "coredata", "versionInfo": "$version",
      "downloadLocation": "$PROJECT_DOWNLOADS/$version/$(basename "$archive")", "packageFileName": "$(basename "$archive")",
      "checksums": [{"algorithm": "SHA256", "checksumValue": "$(sha256sum "$archive" | cut -d ' ' -f 1)"}],
      "filesAnalyzed": false, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
      "copyrightText": "NOASSERTION"},
$(join "${packages[@]}")
  ],
  "relationships": [
    {"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-coredata"},
$(join "${relations[@]}")
  ]
}
JSON
