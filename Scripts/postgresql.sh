#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# A PostgreSQL server for tests.
#
#   Scripts/postgresql.sh install        installs Debian's server, and PgBouncer, where apt-get can, if there are none;
#                                        never fails: without them, the tests that need them say so
#   Scripts/postgresql.sh run COMMAND    runs a command beside a server of its own, in a temporary directory, with a socket
#                                        and no port; SERVER is its URL. Does nothing where there is no server
#   Scripts/postgresql.sh suites COMMAND runs a command that tests stores once for each kind of server: with other
#                                        settings, behind PgBouncer, and with each installed version
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
  local -a as_root=() apt packages=()
  [[ -n $(programs) ]] || packages+=(postgresql)
  [[ -x /usr/sbin/pgbouncer ]] || command -v pgbouncer >/dev/null || packages+=(pgbouncer)
  [[ ${#packages[@]} -gt 0 ]] || return 0
  [[ $(id -u) -eq 0 ]] || as_root=(sudo -n)
  if [[ ${INSTALL:-yes} == no ]] || ! command -v apt-get >/dev/null || ! "${as_root[@]}" true 2>/dev/null; then
    say "Not installed, so that some stores in PostgreSQL are not tested. On Debian: apt-get install ${packages[*]}."
    return 0
  fi
  say "Installing with apt-get, for the tests of stores in PostgreSQL: ${packages[*]}."
  # Debian would start a server for all users.
  if [[ ! -e /etc/postgresql-common/createcluster.conf ]]; then
    "${as_root[@]}" mkdir -p /etc/postgresql-common
    printf 'create_main_cluster = false\n' | "${as_root[@]}" tee /etc/postgresql-common/createcluster.conf >/dev/null
  fi
  apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
  if ! { "${apt[@]}" update && "${apt[@]}" install -y --no-install-recommends "${packages[@]}"; } >/dev/null 2>&1; then
    say "apt-get could not install them, so that some stores in PostgreSQL are not tested."
  fi
  # Debian starts a pooler, too. There need be no systemd.
  if [[ ${packages[*]} == *pgbouncer* ]] && command -v systemctl >/dev/null; then
    "${as_root[@]}" systemctl disable --now pgbouncer >/dev/null 2>&1 || true
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

# Runs a command once for each kind of server.
suites() {
  local -a failed=()
  local folder
  try() {
    local name=$1
    shift
    say "== $name"
    env "$@" || failed+=("$name")
  }
  if [[ -z $(programs) ]]; then
    say "There is no PostgreSQL server: not run: $*"
    return 0
  fi
  try "transactions that are serializable by default" \
    COREDATA_POSTGRESQL_SETTINGS="-c default_transaction_isolation=serializable" "$@"
  try "backslashes that escape in literals" COREDATA_POSTGRESQL_SETTINGS="-c standard_conforming_strings=off" "$@"
  try "ICU's collations" COREDATA_POSTGRESQL_ICU=de-DE "$@"
  if [[ -x /usr/sbin/pgbouncer ]] || command -v pgbouncer >/dev/null; then
    try "PgBouncer, session pooling" COREDATA_POSTGRESQL_POOL=session "$@"
    try "PgBouncer, transaction pooling" COREDATA_POSTGRESQL_POOL=transaction "$@"
  else
    say "There is no PgBouncer: not run behind it."
  fi
  for folder in /usr/lib/postgresql/*/bin; do
    [[ $folder == "$(programs)" || ! -x $folder/initdb ]] || try "$folder" COREDATA_POSTGRESQL_BIN="$folder" "$@"
  done
  [[ ${#failed[@]} -eq 0 ]] && return 0
  say "Failed: $(printf '%s; ' "${failed[@]}")"
  return 1
}

case ${1:-} in
install) install ;;
suites)
  shift
  suites "$@"
  ;;
run)
  shift
  run "$@"
  ;;
*)
  say "usage: Scripts/postgresql.sh install | run COMMAND | suites COMMAND"
  exit 2
  ;;
esac
