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
#   Scripts/postgresql.sh newer COMMAND  runs it with PostgreSQL 17 of Debian 13, which is installed in a bare system of its
#                                        own by debootstrap; needs root. ROOT=DIR keeps the system for the next time.
#                                        `suites` does this too with NEWER=yes
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
  if [[ ${NEWER:-} == yes ]]; then try "PostgreSQL of Debian 13" "${BASH_SOURCE[0]}" newer "$@"; fi
  [[ ${#failed[@]} -eq 0 ]] && return 0
  say "Failed: $(printf '%s; ' "${failed[@]}")"
  return 1
}

# Mounts what a server in another system shares with this one: processes, devices, and the directories of the tests.
mount_into() {
  local place
  for place in proc dev tmp; do
    mountpoint --quiet "$1/$place" || mount --rbind --make-rslave "/$place" "$1/$place"
  done
}

# Unmounts them, and removes the system unless it is kept. Nothing is removed as long as something is mounted in it, since
# that would be removed too.
leave() {
  local root=$1 kept=$2 place
  for place in proc dev tmp; do
    if mountpoint --quiet "$root/$place"; then umount --recursive --lazy "$root/$place"; fi
  done
  [[ -z $kept ]] || return 0
  if grep -q " $root/" /proc/self/mounts; then
    say "Something is still mounted in $root, which is left there."
  else
    rm -rf --one-file-system "$root"
  fi
}

# Runs a command with the server of a newer Debian. Its programs run in that system, as the user of this one.
newer() {
  local root=${ROOT:-} suite=trixie version=17 wrappers program status=0
  if [[ $(id -u) -ne 0 ]]; then
    say "A system of its own for PostgreSQL $version needs root."
    return 1
  fi
  # What tests mount, such as a small disk, has to be seen in that system too.
  if [[ -z ${COREDATA_OWN_MOUNTS:-} ]]; then
    COREDATA_OWN_MOUNTS=yes exec unshare --mount --propagation shared "${BASH_SOURCE[0]}" newer "$@"
  fi
  command -v debootstrap >/dev/null || apt-get install --yes debootstrap >/dev/null
  # Not below /tmp, which is mounted into it.
  [[ -n $root ]] || root=$(mktemp -d /var/tmp/coredata-debian-XXXXXX)
  wrappers=$(mktemp -d /tmp/coredata-pg-bin-XXXXXX)
  chmod 755 "$wrappers"
  # shellcheck disable=SC2064
  trap "rm -rf '$wrappers'; leave '$root' '${ROOT:-}'" EXIT
  if [[ ! -x $root/usr/lib/postgresql/$version/bin/postgres ]]; then
    say "== a bare Debian ($suite) with PostgreSQL $version"
    mkdir -p "$root"
    [[ -d $root/etc/apt ]] || debootstrap --variant=minbase "$suite" "$root" >/dev/null
    # Debian would start a server.
    mkdir -p "$root/etc/postgresql-common"
    printf 'create_main_cluster = false\n' >"$root/etc/postgresql-common/createcluster.conf"
    mountpoint --quiet "$root/proc" || mount -t proc proc "$root/proc"
    chroot "$root" /bin/sh -c "apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install --yes -qq \
      --no-install-recommends postgresql-$version" >/dev/null 2>&1 ||
      { say "PostgreSQL $version could not be installed in $root."; return 1; }
    umount "$root/proc"
  fi
  mount_into "$root"
  for program in initdb pg_ctl postgres pg_basebackup pg_dump pg_restore; do
    # A user namespace lets a user without privileges enter the system, and keeps its number.
    # shellcheck disable=SC2016
    printf '#!/bin/sh\n[ "$(id -u)" != 0 ] || exec chroot %q %q "$@"\nexec unshare --user --map-current-user --root=%q --wd=/ %q "$@"\n' \
      "$root" "/usr/lib/postgresql/$version/bin/$program" "$root" "/usr/lib/postgresql/$version/bin/$program" \
      >"$wrappers/$program"
    chmod 755 "$wrappers/$program"
  done
  # `initdb` looks the user up. Where it has that number already, nothing is changed.
  chroot "$root" usermod --uid "$(id -u postgres)" --non-unique postgres >/dev/null 2>&1 || true
  say "== $("$wrappers/postgres" --version) of $root"
  # A backup needs the pg_dump of the server's version.
  COREDATA_POSTGRESQL_BIN=$wrappers PATH=$wrappers:$PATH "$@" || status=$?
  return $status
}

case ${1:-} in
install) install ;;
newer)
  shift
  newer "$@"
  ;;
suites)
  shift
  suites "$@"
  ;;
run)
  shift
  run "$@"
  ;;
*)
  say "usage: Scripts/postgresql.sh install | run COMMAND | suites COMMAND | newer COMMAND"
  exit 2
  ;;
esac
