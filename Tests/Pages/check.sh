#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Looks at the tool's pages in a browser: with its script, without it, and on a dark ground. Arguments: the tool, and if
# pictures are wanted, the folder to write them to (those of the README are in Documentation/pictures).
# Chromium is installed where apt-get can do it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
tool=$1
pictures=${2:-}

fail() {
  printf 'Tests/Pages: %s.\n' "$*" >&2
  exit 1
}

if ! browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome); then
  echo "Installing chromium ..."
  { apt-get update && apt-get install --yes --no-install-recommends chromium fonts-dejavu-core; } > /dev/null 2>&1 || true
  if ! browser=$(command -v chromium); then
    echo "Pages: not looked at, because there is no Chromium and it cannot be installed"
    exit 0
  fi
fi

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp -R Examples/Done/Done.sqlite Examples/Done/Done.xcdatamodeld "$folder"
cd "$folder"
"$tool" model graph Done.xcdatamodeld --format html --output model.html
"$tool" store report Done.sqlite --output store.html
"$tool" migrate rehearse Done.xcdatamodeld --format html --output rehearsal.html --quiet

# Prints the document as the browser has it when the script has run. Arguments: a page, flags.
document() {
  "$browser" --headless --no-sandbox --disable-gpu --virtual-time-budget=2000 --user-data-dir="$folder/profile" \
    "${@:2}" --dump-dom "file://$folder/$1" 2> "$folder/errors.txt"
}

has() { grep -qF -- "$2" <<< "$1"; }

for page in model store rehearsal; do
  text=$(document "$page.html")
  has "$text" '<p id="search"><input' || fail "the script of $page.html has not shown its search field"
  # The page forbids its script, as a browser without scripts does.
  sed "s/script-src 'unsafe-inline'/script-src 'none'/" "$page.html" > "$page-bare.html"
  text=$(document "$page-bare.html")
  has "$text" '<p id="search" hidden="">' || fail "$page.html offers a search that cannot work without a script"
done

text=$(document 'model.html#find=updatedAt')
shown=$(grep -cF '<tr data-find="">' <<< "$text") || fail 'the search has found nothing'
hidden=$(grep -cF '<tr data-find="" hidden="">' <<< "$text") || fail 'the search has hidden nothing'
has "$text" "<span>$shown rows</span>" || fail "the search does not tell that $shown rows are shown"
echo "Pages: the search shows $shown rows and hides $hidden"

text=$(document 'model.html#find=nothing-has-this-name')
has "$text" '<span>0 rows</span>' || fail 'a search for nothing has found something'

# The pages of a server, which need no script.
"$tool" store browse Done.sqlite --format json --output browse.json --quiet &
server=$!
trap 'kill -TERM "$server" 2> /dev/null || true; rm -rf "$folder"' EXIT
until [[ -s browse.json ]]; do
  kill -0 "$server" || fail 'store browse has ended'
  sleep 0.1
done
address=$(sed -n 's/.*"url": *"\([^"]*\)".*/\1/p' browse.json | sed 's#\\/#/#g')
served() {
  "$browser" --headless --no-sandbox --disable-gpu --window-size=390,800 --user-data-dir="$folder/profile" \
    --dump-dom "$address$1" 2> "$folder/errors.txt"
}
has "$(served '')" '<h1>Done.sqlite</h1>' || fail 'store browse does not show the store'
has "$(served list/TSPItem)" '>300 objects<' || fail 'store browse does not show the objects of an entity'
text=$(served 'list/TSPItem?q=99')
has "$text" 'objects found in all rows' || fail 'store browse does not search'
has "$text" 'value="99"' || fail 'store browse forgets what was searched for'
has "$(served object/TSPItem/p1)" '>createdAt<' || fail 'store browse does not show an object'
kill -TERM "$server"
wait "$server" || fail 'store browse does not end with 0'
[[ ! -e Done.sqlite-wal && ! -e Done.sqlite-shm ]] || fail 'store browse leaves files beside the store'
trap 'rm -rf "$folder"' EXIT
echo 'Pages: store browse shows entities, objects and what is found'

[[ -n $pictures ]] || exit 0
cd - > /dev/null
mkdir -p "$pictures"
pictures=$(cd "$pictures" && pwd)

# Arguments: a page, a name, a size, flags.
picture() {
  "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" \
    --window-size="$3" "${@:4}" --screenshot="$pictures/$2" "file://$folder/$1" 2> "$folder/errors.txt"
}

picture model.html model-light.png 1000,900
picture model.html model-dark.png 1000,900 --force-dark-mode --blink-settings=preferredColorScheme=0
picture rehearsal.html rehearsal.png 1000,700
