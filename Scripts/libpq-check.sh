#!/bin/bash
# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Compares the functions and constants that CPostgreSQL declares with libpq's own header, where that is installed. The
# module is built without the header, so nothing else would notice a difference.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=
for candidate in "$(pg_config --includedir 2>/dev/null || true)" /usr/include/postgresql /usr/include \
  /opt/homebrew/opt/libpq/include /usr/local/opt/libpq/include; do
  if [[ -n $candidate && -f $candidate/libpq-fe.h ]]; then
    folder=$candidate
    break
  fi
done
if [[ -z $folder ]]; then
  echo "libpq-fe.h is not installed, so what CPostgreSQL declares was not compared with it." >&2
  exit 0
fi
if ! compiler=$(command -v clang || command -v cc); then
  echo "No C compiler was found to compare CPostgreSQL with $folder/libpq-fe.h." >&2
  exit 1
fi

"$compiler" -std=c11 -Wall -Werror -Wno-unknown-warning-option -Wno-unknown-pragmas -Wno-nullability-extension \
  -Wno-nullability-completeness "-D_Nullable=" "-D_Nonnull=" \
  -fsyntax-only -I "$folder" -I Sources/CPostgreSQL/include -x c - <<'SOURCE'
#include <libpq-fe.h>
#include <CPostgreSQL.h>

#define SAME(result, name, parameters, arguments) void check_##name(void); \
  void check_##name(void) { result(*function) parameters = name; (void)function; }
CPQ_FUNCTIONS(SAME)

#define EQUAL(ours, theirs) _Static_assert((ours) == (theirs), #ours)
EQUAL(CPQ_CONNECTION_OK, CONNECTION_OK);
EQUAL(CPQ_CONNECTION_BAD, CONNECTION_BAD);
EQUAL(CPQ_POLLING_FAILED, PGRES_POLLING_FAILED);
EQUAL(CPQ_POLLING_READING, PGRES_POLLING_READING);
EQUAL(CPQ_POLLING_WRITING, PGRES_POLLING_WRITING);
EQUAL(CPQ_POLLING_OK, PGRES_POLLING_OK);
EQUAL(CPQ_EMPTY_QUERY, PGRES_EMPTY_QUERY);
EQUAL(CPQ_COMMAND_OK, PGRES_COMMAND_OK);
EQUAL(CPQ_TUPLES_OK, PGRES_TUPLES_OK);
EQUAL(CPQ_COPY_OUT, PGRES_COPY_OUT);
EQUAL(CPQ_COPY_IN, PGRES_COPY_IN);
EQUAL(CPQ_BAD_RESPONSE, PGRES_BAD_RESPONSE);
EQUAL(CPQ_NONFATAL_ERROR, PGRES_NONFATAL_ERROR);
EQUAL(CPQ_FATAL_ERROR, PGRES_FATAL_ERROR);
EQUAL(CPQ_COPY_BOTH, PGRES_COPY_BOTH);
EQUAL(CPQ_SINGLE_TUPLE, PGRES_SINGLE_TUPLE);
EQUAL(CPQ_PIPELINE_SYNC, PGRES_PIPELINE_SYNC);
EQUAL(CPQ_PIPELINE_ABORTED, PGRES_PIPELINE_ABORTED);
EQUAL(CPQ_TRANSACTION_IDLE, PQTRANS_IDLE);
EQUAL(CPQ_TRANSACTION_ACTIVE, PQTRANS_ACTIVE);
EQUAL(CPQ_TRANSACTION_OPEN, PQTRANS_INTRANS);
EQUAL(CPQ_TRANSACTION_FAILED, PQTRANS_INERROR);
EQUAL(CPQ_TRANSACTION_UNKNOWN, PQTRANS_UNKNOWN);
EQUAL(CPQ_FIELD_SQLSTATE, PG_DIAG_SQLSTATE);
EQUAL(CPQ_FIELD_MESSAGE, PG_DIAG_MESSAGE_PRIMARY);
EQUAL(CPQ_FIELD_DETAIL, PG_DIAG_MESSAGE_DETAIL);
EQUAL(CPQ_FIELD_HINT, PG_DIAG_MESSAGE_HINT);
EQUAL(CPQ_FIELD_SCHEMA, PG_DIAG_SCHEMA_NAME);
EQUAL(CPQ_FIELD_TABLE, PG_DIAG_TABLE_NAME);
EQUAL(CPQ_FIELD_COLUMN, PG_DIAG_COLUMN_NAME);
EQUAL(CPQ_FIELD_CONSTRAINT, PG_DIAG_CONSTRAINT_NAME);
EQUAL(offsetof(struct cpq_notification, channel), offsetof(PGnotify, relname));
EQUAL(offsetof(struct cpq_notification, process), offsetof(PGnotify, be_pid));
EQUAL(offsetof(struct cpq_notification, payload), offsetof(PGnotify, extra));
EQUAL(sizeof(struct cpq_notification), sizeof(PGnotify));
EQUAL(offsetof(struct cpq_option, keyword), offsetof(PQconninfoOption, keyword));
EQUAL(offsetof(struct cpq_option, value), offsetof(PQconninfoOption, val));
EQUAL(sizeof(struct cpq_option), sizeof(PQconninfoOption));
SOURCE
