// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CPostgreSQL.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cpq_table cpq_table;

static void ignore(void *argument, const PGresult *result) {}

#if __has_include(<dlfcn.h>) && __has_include(<pthread.h>)

#include <errno.h>
#include <poll.h>

/// Whether the connection has a connect timeout.
static int has_time_limit(PGconn *connection) {
  struct cpq_option *options = (struct cpq_option *)cpq_PQconninfo(connection);
  int found = 0;
  for (struct cpq_option *option = options; option && option->keyword; option++) {
    if (!strcmp(option->keyword, "connect_timeout") && option->value && atoi(option->value) > 0) found = 1;
  }
  cpq_PQconninfoFree((struct _PQconninfoOption *)options);
  return found;
}

PGconn *cpq_connect(const char *const *keywords, const char *const *values) {
  PGconn *connection = cpq_PQconnectStartParams(keywords, values, 0);
  if (!connection || cpq_PQstatus(connection) == CPQ_CONNECTION_BAD) return connection;
  cpq_PQsetNoticeReceiver(connection, ignore, NULL);
  if (has_time_limit(connection)) {
    // Only libpq can continue with the next host when the time for one is over. It keeps the notice receiver.
    cpq_PQreset(connection);
    return connection;
  }
  unsigned int status = CPQ_POLLING_WRITING;
  while (status == CPQ_POLLING_READING || status == CPQ_POLLING_WRITING) {
    struct pollfd socket = {cpq_PQsocket(connection), status == CPQ_POLLING_READING ? POLLIN : POLLOUT, 0};
    if (socket.fd < 0) break;
    if (poll(&socket, 1, -1) < 0 && errno != EINTR) break;
    if (socket.revents) status = cpq_PQconnectPoll(connection);
  }
  return connection;
}

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

static char failure[1024];

/// Returns the library named by the environment, unless the program runs with more permissions than its user.
static const char *named_library(void) {
#if defined(__linux__)
  return secure_getenv("COREDATA_LIBPQ");
#else
  return issetugid() ? NULL : getenv("COREDATA_LIBPQ");
#endif
}

static const char *const libraries[] = {
#if defined(__APPLE__)
    "libpq.5.dylib",
    "/opt/homebrew/opt/libpq/lib/libpq.5.dylib",
    "/usr/local/opt/libpq/lib/libpq.5.dylib",
    "/opt/homebrew/lib/libpq.5.dylib",
    "/usr/local/lib/libpq.5.dylib",
#else
    "libpq.so.5",
#endif
};

/// Resolves all functions. Returns the name of a function that the library lacks, or NULL if there is none.
static const char *resolve(void *library) {
#define CPQ_RESOLVE(result, name, parameters, arguments) \
  *(void **)&cpq_table.name = dlsym(library, #name); \
  if (!cpq_table.name) return #name;
  CPQ_FUNCTIONS(CPQ_RESOLVE)
#undef CPQ_RESOLVE
  return NULL;
}

static void load(void) {
  const char *named = named_library();
  void *library = NULL;
  if (named && *named) {
    library = dlopen(named, RTLD_NOW | RTLD_LOCAL);
  } else {
    for (size_t n = 0; !library && n < sizeof libraries / sizeof *libraries; n++) {
      library = dlopen(libraries[n], RTLD_NOW | RTLD_LOCAL);
    }
  }
  if (!library) {
    const char *reason = dlerror();
    snprintf(failure, sizeof failure, "%s", reason ? reason : "the library was not found");
    return;
  }
  const char *missing = resolve(library);
  if (missing) {
    snprintf(failure, sizeof failure, "the library lacks %s; libpq 14 or later is needed", missing);
    dlclose(library);
  } else if (!cpq_PQisthreadsafe()) {
    snprintf(failure, sizeof failure, "the library was built without support for threads");
  }
}

const char *cpq_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return *failure ? failure : NULL;
}

#else

PGconn *cpq_connect(const char *const *keywords, const char *const *values) { return NULL; }

const char *cpq_load(void) { return "loading libpq is not supported on this system"; }

#endif
