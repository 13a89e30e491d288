#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# A PostgreSQL server for tests.
#
#   Scripts/postgresql.sh install        installs Debian's server where apt-get can, if there is none; never fails:
#                                        without a server, the tests that need one say so
#   Scripts/postgresql.sh run COMMAND    runs a command beside a server of its own, in a temporary directory, with a socket
#                                        and no port; SERVER is its URL. Does nothing where there is no server
# INSTALL=no keeps it from installing.
set -euo pipefail

say() { printf '%s\n' "$*" >&2; }

# The directory of the newest server's programs; empty if there is none.
programs() {
  local folder
  for folder in ${COREDATA_POSTGRESQL_BIN:-} $(printf '%s\n' /usr/lib/postgresql/*/bin | sort -rV) ${PATH//:/ }; do
    if [[ -x $folder/initdb && -x $folder/pg_ctl && -x $folder/postgres ]]; then
      printf '%s' "$folder"
      return
    fi
  done
}

install() {
  local -a as_root=() apt
  [[ -z $(programs) ]] || return 0
  [[ $(id -u) -eq 0 ]] || as_root=(sudo -n)
  if [[ ${INSTALL:-yes} == no ]] || ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
    say "There is no PostgreSQL server, so stores in PostgreSQL are not tested. On Debian: apt-get install postgresql."
    return 0
  fi
  say "Installing postgresql with apt-get, for the tests of stores in PostgreSQL."
  # Debian would start a server for all users.
  if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
    "${as_root[@]}" mkdir -p /etc/postgresql-common
    printf 'create_main_cluster = false\n' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends postgresql; } >/dev/null 2>&1; then
    say "apt-get could not install it, so stores in PostgreSQL are not tested."
  fi
}

run() {
  local bin folder status=0
  local -a as_user=()
  bin=$(programs)
  if [[ -z $bin ]]; then
    say "There is no PostgreSQL server: not run: $*"
    return 0
  fi
  # A socket's path has at most 107 bytes.
  folder=$(mktemp -d /tmp/coredata-pg-XXXXXX)
  # PostgreSQL refuses to run as root.
  if [[ $(id -u) -eq 0 ]]; then
    as_user=(runuser -u postgres --)
    chown postgres "$folder"
  fi
  # shellcheck disable=SC2064
  trap "cd /; ${as_user[*]} '$bin/pg_ctl' -D '$folder/data' -m immediate stop >/dev/null 2>&1; rm -rf '$folder'" EXIT
  (
    cd /
    "${as_user[@]}" "$bin/initdb" -D "$folder/data" -A trust -U tester -E UTF8 --locale=C -N
    "${as_user[@]}" "$bin/pg_ctl" -D "$folder/data" -o "-k $folder -c listen_addresses='' -c max_wal_size=4GB" \
      -l "$folder/log" -w start
  ) >/dev/null
  SERVER="postgresql://tester@/postgres?host=$folder" "$@" || status=$?
  return $status
}

case ${1:-} in
install) install ;;
run)
  shift
  run "$@"
  ;;
*)
  say "usage: Scripts/postgresql.sh install | run COMMAND"
  exit 2
  ;;
esac
