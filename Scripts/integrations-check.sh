#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Runs the shell lines of the workflows in Integrations as a runner does: in a bare system, each step on its own, with the
# variables of the file. Needs root. Arguments: the directory of a bare Debian; the .tar.gz of the tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$1 archive=$2

fail() {
  printf 'integrations-check: %s.\n' "$*" >&2
  exit 1
}

# Turns a workflow into a shell script. Understands what the two files use: maps of variables below env: and variables:, and
# steps with `run: LINE` or `run: |`, or entries of script:. As on a runner, each step is a shell of its own that stops at the
# first error; after a failed step only those with `if: always() && steps.ID.outcome == 'success'` run, if the step ID did not
# fail, and `continue-on-error` ignores a status.
translate() {
  awk '
    function quote(text) { gsub(/\047/, "\047\\\047\047", text); return "\047" text "\047" }
    function value(text) { gsub(/^"|"$/, "", text); return text }
    function flush() {
      if (code != "") {
        steps++
        printf "step %s %s %s %s\n", quote(id), quote(condition), quote(ignored), quote(code)
      }
      code = id = condition = ignored = ""; block = -1
    }
    function indent(line) { match(line, /^ */); return RLENGTH }
    /^ *#/ { next }
    block >= 0 {
      if ($0 ~ /^ *$/ || indent($0) > block) { code = code substr($0, block + 3) "\n"; next }
      block = -1
    }
    variables && indent($0) > variables && /^ *[A-Z_0-9]+: / {
      name = $1; sub(/:$/, "", name); text = $0; sub(/^ *[A-Z_0-9]+: */, "", text)
      printf "declare_default %s %s\n", name, quote(value(text)); next
    }
    { variables = 0 }
    /^ *(env|variables):$/ { flush(); variables = indent($0); next }
    /^ *script:$/ { flush(); script = indent($0) + 1; next }
    script && indent($0) < script { flush(); script = 0 }
    script && /^ *- \|$/ { block = indent($0); next }
    script && /^ *- / { line = $0; sub(/^ *- /, "", line); code = code line "\n"; next }
    /^ *- / { flush() }
    /^ *(- )?run: \|$/ { block = index($0, "run:") - 1; next }
    /^ *(- )?run: / { code = $0; sub(/^ *(- )?run: /, "", code); next }
    /^ *id: / { id = $2 }
    /^ *if: always\(\) && steps\.[a-z]+\.outcome == .success.$/ { split($4, words, "."); condition = words[2] }
    /^ *continue-on-error: true$/ { ignored = "yes" }
    END { flush(); if (!steps) exit 1 }' "$1" || fail "$1 has no steps"
}

# Runs a workflow in the bare system. Arguments: the file; assignments of variables that come before those of the file.
run() {
  {
    cat <<'RUNNER'
cd /srv/project
export RUNNER_TEMP GITHUB_PATH
RUNNER_TEMP=$(mktemp -d)
GITHUB_PATH=$(mktemp)
declare -A succeeded
declare_default() { if [[ -z ${!1:-} ]]; then export "$1=$2"; fi; }
status=0
step() {
  if [[ $status != 0 && -z ${succeeded[${2:-none}]:-} ]]; then return; fi
  local PATH=$PATH line result=0
  while read -r line; do PATH=$line:$PATH; done < "$GITHUB_PATH"
  bash -e -o pipefail -c "$4" || result=$?
  if [[ $result == 0 ]]; then succeeded[${1:-unnamed}]=yes; elif [[ $3 != yes ]]; then status=$result; fi
}
RUNNER
    translate "$1"
    printf 'exit $status\n'
  } > "$root/srv/run.sh"
  chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    DEBIAN_FRONTEND=noninteractive MODEL=Done.xcdatamodeld "${@:2}" bash /srv/run.sh > "$root/srv/log" 2>&1
}

log() { tail -n 20 "$root/srv/log" >&2; }

project() {
  rm -rf "$root/srv/project"
  mkdir -p "$root/srv/project"
  cp -R Examples/Done/Done.xcdatamodeld "$root/srv/project"
}

mkdir -p "$root/srv"
cp "$archive" "$root/srv/archive.tar.gz"
sum=$(sha256sum "$archive" | cut -d ' ' -f 1)
good=(COREDATA_ARCHIVE=file:///srv/archive.tar.gz COREDATA_SHA256="$sum")
# What GitHub's machines have.
chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -q install --yes --no-install-recommends ca-certificates curl \
  > /dev/null 2>&1 || fail 'curl could not be installed'

for file in Integrations/github-workflow.yml Integrations/gitlab-ci.yml; do
  report=coredata.xml
  [[ $file != *github* ]] || report=coredata.sarif

  project
  if run "$file"; then fail "$file runs with its placeholders"; fi
  grep -q 'Set COREDATA_ARCHIVE and COREDATA_SHA256' "$root/srv/log" || { log; fail "$file does not say what to set"; }
  [[ ! -s $root/srv/project/$report ]] || fail "$file went on after it had refused to run"

  project
  if run "$file" "${good[0]}" "COREDATA_SHA256=${sum//[0-9]/0}"; then fail "$file uses an archive with another checksum"; fi

  # The line of SHA256SUMS is accepted as it is.
  project
  run "$file" "${good[0]}" "COREDATA_SHA256=$sum  coredata.tar.gz" || { log; fail "$file fails for a model without problems"; }
  [[ -s $root/srv/project/$report ]] || fail "$file wrote no $report"

  # A shipped version that was edited.
  project
  tar -xzf "$archive" -C "$root/opt"
  chroot "$root" sh -c 'cd /srv/project && /opt/coredata-*/bin/coredata model lock Done.xcdatamodeld' > /dev/null
  sed -i 's/attributeType="String"/attributeType="Integer 16"/' "$root/srv/project/Done.xcdatamodeld/Done.xcdatamodel/contents"
  if run "$file" "${good[@]}"; then fail "$file passes a shipped version that was edited"; fi
  grep -q 'differs from the version that was shipped' "$root/srv/project/$report" ||
    fail "$file: $report does not name what was edited"
done
printf '%s: stops at placeholders and a wrong checksum, passes a good model, fails for an edited version.\n' Integrations/*.yml
