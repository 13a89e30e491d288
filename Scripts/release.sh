#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# The files of a release. `make release` calls it before and after the build.
#
#   Scripts/release.sh check                   says everything that keeps this commit from being released
#   Scripts/release.sh notes                   prints what CHANGELOG.md says of the version
#   Scripts/release.sh make TOOL DIST FOLDER   FOLDER/VERSION, with the packages that `make dist` has made in DIST/packages,
#                                              the sources, what is linked in, the notes, the files of Integrations with the
#                                              address and checksum of the archive, and the checksums of all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=$(Scripts/project.sh version)

fail() {
  printf 'release: %s.\n' "$*" >&2
  exit 1
}

check() {
  local heading tagged reasons=() reason
  heading=$(grep -m 1 '^## ' CHANGELOG.md || true)
  [[ $heading =~ ^"## $version"([^0-9.]|$) ]] ||
    reasons+=("CHANGELOG.md begins with \"$heading\", but the version is $version (Sources/CoreDataCommand/Version.swift)")
  if [[ $heading == *'not released'* ]]; then
    reasons+=("CHANGELOG.md says \"$heading\": put the day there, such as \"## $version, $(LC_ALL=C date -u '+%-d %B %Y')\"")
  fi
  if [[ -n $(git status --porcelain) ]]; then reasons+=("files differ from the commit: commit them, or remove them"); fi
  tagged=$(git rev-parse --quiet --verify "refs/tags/$version^{commit}" || true)
  if [[ -n $tagged && $tagged != $(git rev-parse HEAD) ]]; then
    reasons+=("the tag $version is on another commit, ${tagged:0:10}: raise the version")
  fi
  Scripts/project.sh check || reasons+=("Scripts/project.env has placeholders, see above")
  ((${#reasons[@]} > 0)) || return 0
  printf 'release: version %s cannot be released from here:\n' "$version" >&2
  for reason in "${reasons[@]}"; do printf '  - %s.\n' "$reason" >&2; done
  exit 1
}

# The section of the version in CHANGELOG.md, without its heading.
notes() {
  grep -qE "^## ${version//./\\.}([^0-9.]|\$)" CHANGELOG.md || fail "CHANGELOG.md has no section \"## $version\""
  awk -v wanted="## $version" '
    /^## / { inside = $0 == wanted || index($0, wanted ",") == 1 || index($0, wanted " ") == 1; next }
    inside && (NF || started) { print; started = 1 }' CHANGELOG.md
}

# CITATION.cff with what a release has.
citation() {
  cat CITATION.cff
  printf 'version: %s\ndate-released: %s\nrepository-code: %s\n' "$version" "$(git log -1 --format=%cs)" "$PROJECT_REPOSITORY"
}

# A file of Integrations with the archive of this release.
integration() {
  local text
  text=$(sed -e "s|^\( *COREDATA_ARCHIVE:\).*|\1 $PROJECT_DOWNLOADS/$version/$2|" \
    -e "s|^\( *COREDATA_SHA256:\).*|\1 \"$3\"|" "$1")
  grep -qF "COREDATA_SHA256: \"$3\"" <<<"$text" && grep -qF "COREDATA_ARCHIVE: $PROJECT_DOWNLOADS/$version/$2" <<<"$text" ||
    fail "$1 has no lines for the archive and its checksum"
  printf '%s\n' "$text"
}

make_release() {
  local tool=$1 dist=$2 folder=$3/$version archives archive name sum
  # shellcheck source=Scripts/project.env
  source Scripts/project.env
  SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
  export SOURCE_DATE_EPOCH
  shopt -s nullglob
  archives=("$dist/packages/coredata-$version"-*.tar.gz)
  [[ ${#archives[@]} -eq 1 ]] || fail "$dist/packages has ${#archives[@]} archives of version $version instead of one"
  archive=$(basename "${archives[0]}")
  name=${archive%.tar.gz}

  rm -rf "$folder"
  mkdir -p "$folder"
  cp "${archives[0]}" "$dist/packages/coredata_${version}"_*.deb "$folder"
  git archive --format=tar --prefix="OpenCoreData-$version/" HEAD | gzip -9n > "$folder/OpenCoreData-$version.tar.gz"
  Scripts/sbom.sh "$tool" "$dist/archives" "$folder/$archive" > "$folder/$name.spdx.json"
  notes > "$folder/NOTES.md"
  citation > "$folder/CITATION.cff"
  sum=$(sha256sum "$folder/$archive" | cut -d ' ' -f 1)
  integration Integrations/github-workflow.yml "$archive" "$sum" > "$folder/github-workflow.yml"
  integration Integrations/gitlab-ci.yml "$archive" "$sum" > "$folder/gitlab-ci.yml"
  (
    cd "$folder"
    sums=$(sha256sum -- *)
    printf '%s\n' "$sums" > SHA256SUMS
  )

  printf 'Version %s is in %s:\n' "$version" "$folder"
  (cd "$folder" && stat --format '%s %n' -- *) | awk '{ printf "  %8.2f MB  %s\n", $1 / 1000000, $2 }'
  cat <<NEXT
What remains to be done:
  make release-check dist-check    the long checks, and the packages in bare systems, if they have not been run for this commit
  git tag --annotate $version --message 'OpenCoreData $version' $(git rev-parse --short=10 HEAD) && git push origin $version
  publish these files as the release of the tag: Integrations' copies load $PROJECT_DOWNLOADS/$version/$archive
  sha256sum --check SHA256SUMS     what users can do
NEXT
}

case ${1:-} in
  check) check ;;
  notes) notes ;;
  make) make_release "$2" "$3" "$4" ;;
  *) fail 'say check, notes, or make TOOL DIST FOLDER' ;;
esac
