#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Gives each tracked file a modification time that follows from its content. SwiftPM compiles a file again when its time has
# changed, and git gives the files of a fresh checkout the time of the checkout: a cache of .build saves nothing in continuous
# integration unless this runs between the checkout and the build. Works with shallow clones, since no history is read.
# Argument: a directory of the repository, by default the current one.
set -euo pipefail
cd "${1:-.}"

git ls-files --stage -z | while IFS=$' \t' read -r -d '' _ hash _ file; do
  # A submodule has a directory; a link is touched itself.
  if [[ -f $file || -L $file ]]; then touch --no-dereference --date "@$((16#${hash:0:7}))" -- "$file"; fi
done
