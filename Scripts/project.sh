#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Facts about the project that scripts and packages need.
#
#   Scripts/project.sh version   prints the version, which stands in Sources/CoreDataCommand/Version.swift
#   Scripts/project.sh check     fails as long as Scripts/project.env has placeholders, and says what to set
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

fail() {
  printf 'project: %s\n' "$*" >&2
  exit 1
}

version() {
  local file=Sources/CoreDataCommand/Version.swift version
  version=$(sed -nE 's/.*static let version = "([0-9]+\.[0-9]+\.[0-9]+)".*/\1/p' "$file")
  [[ -n $version ]] || fail "$file has no line: static let version = \"1.2.3\""
  printf '%s\n' "$version"
}

check() {
  # shellcheck source=Scripts/project.env
  source Scripts/project.env
  local name unset=()
  for name in PROJECT_REPOSITORY PROJECT_MAINTAINER PROJECT_DOWNLOADS; do
    # Derived from the first, unless it was set.
    if [[ $name == PROJECT_DOWNLOADS && ${#unset[@]} -gt 0 ]]; then continue; fi
    # The end of a host's name.
    if [[ -z ${!name} || ${!name} =~ \.example([/:\>]|$) ]]; then unset+=("$name='${!name}'"); fi
  done
  ((${#unset[@]} > 0)) || return 0
  {
    printf 'project: packages name the address of the repository and their maintainer. These are placeholders:\n'
    printf '  %s\n' "${unset[@]}"
    printf 'Set them in Scripts/project.env, or for one run:\n'
    printf "  make dist PROJECT_REPOSITORY='https://…/OpenCoreData' PROJECT_MAINTAINER='Name <name@…>'\n"
  } >&2
  exit 1
}

case ${1:-} in
  version) version ;;
  check) check ;;
  *) fail 'say version, or check.' ;;
esac
