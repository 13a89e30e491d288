// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stddef.h>

// The functions of libpq used by this package, declared as in its manual. The library is loaded by `cpq_load`, so a
// build does not need it, nor does a program that does not use PostgreSQL. `Scripts/libpq-check.sh` compares these
// declarations with libpq's own header.

typedef unsigned int Oid;
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;

/// `PGnotify`.
struct cpq_notification {
  char *_Nonnull channel;
  int process;
  char *_Nonnull payload;
  void *_Nullable next;
};

// ConnStatusType
#define CPQ_CONNECTION_OK 0U
#define CPQ_CONNECTION_BAD 1U

// PostgresPollingStatusType
#define CPQ_POLLING_FAILED 0U
#define CPQ_POLLING_READING 1U
#define CPQ_POLLING_WRITING 2U
#define CPQ_POLLING_OK 3U

// ExecStatusType
#define CPQ_EMPTY_QUERY 0U
#define CPQ_COMMAND_OK 1U
#define CPQ_TUPLES_OK 2U
#define CPQ_COPY_OUT 3U
#define CPQ_COPY_IN 4U
#define CPQ_BAD_RESPONSE 5U
#define CPQ_NONFATAL_ERROR 6U
#define CPQ_FATAL_ERROR 7U
#define CPQ_COPY_BOTH 8U
#define CPQ_SINGLE_TUPLE 9U
#define CPQ_PIPELINE_SYNC 10U
#define CPQ_PIPELINE_ABORTED 11U

// PGTransactionStatusType
#define CPQ_TRANSACTION_IDLE 0U
#define CPQ_TRANSACTION_ACTIVE 1U
#define CPQ_TRANSACTION_OPEN 2U
#define CPQ_TRANSACTION_FAILED 3U
#define CPQ_TRANSACTION_UNKNOWN 4U

// Codes of error fields (`PG_DIAG_…`), as numbers, because Swift does not import character constants.
#define CPQ_FIELD_SQLSTATE 67
#define CPQ_FIELD_MESSAGE 77
#define CPQ_FIELD_DETAIL 68
#define CPQ_FIELD_HINT 72
#define CPQ_FIELD_SCHEMA 115
#define CPQ_FIELD_TABLE 116
#define CPQ_FIELD_COLUMN 99
#define CPQ_FIELD_CONSTRAINT 110

/// The functions of libpq: FUNCTION(result, name, parameters, arguments). Enumerations are declared as unsigned
/// integers, which compilers pass in the same way. All functions are in libpq 14.
#define CPQ_FUNCTIONS(FUNCTION) \
  FUNCTION(PGconn *_Nullable, PQconnectStartParams, \
    (const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values, int expand), \
    (keywords, values, expand)) \
  FUNCTION(unsigned int, PQconnectPoll, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(void, PQreset, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(struct _PQconninfoOption *_Nullable, PQconninfo, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(void, PQconninfoFree, (struct _PQconninfoOption *_Nullable options), (options)) \
  FUNCTION(void, PQfinish, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(unsigned int, PQstatus, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(unsigned int, PQtransactionStatus, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(const char *_Nullable, PQparameterStatus, \
    (const PGconn *_Nullable connection, const char *_Nonnull name), (connection, name)) \
  FUNCTION(int, PQserverVersion, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(char *_Nullable, PQerrorMessage, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQconnectionNeedsPassword, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(char *_Nullable, PQpass, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQsocket, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQbackendPID, (const PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQlibVersion, (void), ()) \
  FUNCTION(int, PQisthreadsafe, (void), ()) \
  FUNCTION(PGcancel *_Nullable, PQgetCancel, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(void, PQfreeCancel, (PGcancel *_Nullable cancel), (cancel)) \
  FUNCTION(int, PQcancel, (PGcancel *_Nullable cancel, char *_Nonnull buffer, int size), (cancel, buffer, size)) \
  FUNCTION(PGresult *_Nullable, PQexec, (PGconn *_Nullable connection, const char *_Nonnull sql), (connection, sql)) \
  FUNCTION(PGresult *_Nullable, PQexecParams, \
    (PGconn *_Nullable connection, const char *_Nonnull sql, int count, const Oid *_Nullable types, \
     const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats, \
     int resultFormat), \
    (connection, sql, count, types, values, lengths, formats, resultFormat)) \
  FUNCTION(PGresult *_Nullable, PQprepare, \
    (PGconn *_Nullable connection, const char *_Nonnull name, const char *_Nonnull sql, int count, \
     const Oid *_Nullable types), \
    (connection, name, sql, count, types)) \
  FUNCTION(PGresult *_Nullable, PQexecPrepared, \
    (PGconn *_Nullable connection, const char *_Nonnull name, int count, const char *_Nullable const *_Nullable values, \
     const int *_Nullable lengths, const int *_Nullable formats, int resultFormat), \
    (connection, name, count, values, lengths, formats, resultFormat)) \
  FUNCTION(int, PQsendQuery, (PGconn *_Nullable connection, const char *_Nonnull sql), (connection, sql)) \
  FUNCTION(int, PQsendQueryParams, \
    (PGconn *_Nullable connection, const char *_Nonnull sql, int count, const Oid *_Nullable types, \
     const char *_Nullable const *_Nullable values, const int *_Nullable lengths, const int *_Nullable formats, \
     int resultFormat), \
    (connection, sql, count, types, values, lengths, formats, resultFormat)) \
  FUNCTION(int, PQsetSingleRowMode, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQsendPrepare, \
    (PGconn *_Nullable connection, const char *_Nonnull name, const char *_Nonnull sql, int count, \
     const Oid *_Nullable types), \
    (connection, name, sql, count, types)) \
  FUNCTION(int, PQsendQueryPrepared, \
    (PGconn *_Nullable connection, const char *_Nonnull name, int count, const char *_Nullable const *_Nullable values, \
     const int *_Nullable lengths, const int *_Nullable formats, int resultFormat), \
    (connection, name, count, values, lengths, formats, resultFormat)) \
  FUNCTION(PGresult *_Nullable, PQgetResult, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQisBusy, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQconsumeInput, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQflush, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQsetnonblocking, (PGconn *_Nullable connection, int on), (connection, on)) \
  FUNCTION(int, PQenterPipelineMode, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQexitPipelineMode, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQpipelineSync, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(int, PQputCopyData, (PGconn *_Nullable connection, const char *_Nonnull bytes, int count), \
    (connection, bytes, count)) \
  FUNCTION(int, PQputCopyEnd, (PGconn *_Nullable connection, const char *_Nullable error), (connection, error)) \
  FUNCTION(struct pgNotify *_Nullable, PQnotifies, (PGconn *_Nullable connection), (connection)) \
  FUNCTION(void, PQfreemem, (void *_Nullable pointer), (pointer)) \
  FUNCTION(cpq_notice_receiver _Nullable, PQsetNoticeReceiver, \
    (PGconn *_Nullable connection, cpq_notice_receiver _Nullable receiver, void *_Nullable argument), \
    (connection, receiver, argument)) \
  FUNCTION(unsigned int, PQresultStatus, (const PGresult *_Nullable result), (result)) \
  FUNCTION(char *_Nullable, PQresultErrorMessage, (const PGresult *_Nullable result), (result)) \
  FUNCTION(char *_Nullable, PQresultErrorField, (const PGresult *_Nullable result, int field), (result, field)) \
  FUNCTION(int, PQntuples, (const PGresult *_Nullable result), (result)) \
  FUNCTION(int, PQnfields, (const PGresult *_Nullable result), (result)) \
  FUNCTION(char *_Nullable, PQfname, (const PGresult *_Nullable result, int column), (result, column)) \
  FUNCTION(Oid, PQftype, (const PGresult *_Nullable result, int column), (result, column)) \
  FUNCTION(char *_Nullable, PQcmdStatus, (PGresult *_Nullable result), (result)) \
  FUNCTION(char *_Nullable, PQcmdTuples, (PGresult *_Nullable result), (result)) \
  FUNCTION(char *_Nullable, PQgetvalue, (const PGresult *_Nullable result, int row, int column), \
    (result, row, column)) \
  FUNCTION(int, PQgetlength, (const PGresult *_Nullable result, int row, int column), (result, row, column)) \
  FUNCTION(int, PQgetisnull, (const PGresult *_Nullable result, int row, int column), (result, row, column)) \
  FUNCTION(void, PQclear, (PGresult *_Nullable result), (result))

struct pgNotify;
struct _PQconninfoOption;
typedef void (*cpq_notice_receiver)(void *_Nullable argument, const PGresult *_Nullable result);

/// The addresses of libpq's functions.
struct cpq_table {
#define CPQ_MEMBER(result, name, parameters, arguments) result(*_Nullable name) parameters;
  CPQ_FUNCTIONS(CPQ_MEMBER)
#undef CPQ_MEMBER
};
extern struct cpq_table cpq_table;

/// Loads libpq on the first call. Any thread may call it.
///
/// Returns NULL if libpq has been loaded, otherwise the reason for the failure as a string that is never freed. No
/// other function may be called unless this one has returned NULL.
const char *_Nullable cpq_load(void);

/// The layout of `PQconninfoOption`, as far as it is read.
struct cpq_option {
  char *_Nullable keyword;
  char *_Nullable environment;
  char *_Nullable compiled;
  char *_Nullable value;
  char *_Nullable label;
  char *_Nullable display;
  int size;
};

/// Connects like `PQconnectdbParams`, but keeps libpq from writing the server's notices to standard error, including
/// those sent while connecting.
PGconn *_Nullable cpq_connect(
  const char *_Nullable const *_Nonnull keywords, const char *_Nullable const *_Nonnull values);

// A wrapper `cpq_NAME` for each function NAME of libpq.
#define CPQ_WRAPPER(result, name, parameters, arguments) \
  static inline result cpq_##name parameters { return cpq_table.name arguments; }
CPQ_FUNCTIONS(CPQ_WRAPPER)
#undef CPQ_WRAPPER

/// Returns the next notification; NULL if there is none. Free it with `cpq_PQfreemem`.
static inline struct cpq_notification *_Nullable cpq_next_notification(PGconn *_Nonnull connection) {
  return (struct cpq_notification *)cpq_PQnotifies(connection);
}
