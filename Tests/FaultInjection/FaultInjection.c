// OpenCoreData
// SPDX-License-Identifier: Apache-2.0
//
// Calls of the file system that fail, or never return, when a test wants it. The functions stand in the executable of the
// tests, where the dynamic linker finds them before those of the C library, also for SQLite and Foundation.

#define _GNU_SOURCE
#include "FaultInjection.h"

#ifdef __linux__

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char folder[4096];
static size_t folderLength = 0;
static atomic_int isArmed = 0;
static long chosen = 0, count = 0;
static int kind = 0, failure = 0;
static char call[512];
static char trace[1 << 18];
static size_t traceLength = 0;

void faultInjectionArm(const char *path, long number, int what, int error) {
  pthread_mutex_lock(&lock);
  strncpy(folder, path, sizeof folder - 1);
  folderLength = strlen(folder);
  chosen = number;
  count = 0;
  kind = what;
  failure = error;
  call[0] = 0;
  trace[0] = 0;
  traceLength = 0;
  isArmed = 1;
  pthread_mutex_unlock(&lock);
}

long faultInjectionDisarm(void) {
  pthread_mutex_lock(&lock);
  isArmed = 0;
  long result = count;
  pthread_mutex_unlock(&lock);
  return result;
}

const char *faultInjectionCall(void) { return call; }

const char *faultInjectionTrace(void) { return trace; }

static void killProcess(void) {
  kill(getpid(), SIGKILL);
  for (;;) pause();
}

/// Whether the call is to fail. 2 where the process is to be killed after a half of the call.
static int isChosen(const char *name, const char *path, int writes) {
  if (!isArmed || path == NULL) return 0;
  int result = 0;
  pthread_mutex_lock(&lock);
  // Another thread may have ended it meanwhile.
  if (!isArmed || strncmp(path, folder, folderLength) != 0) {
    pthread_mutex_unlock(&lock);
    return 0;
  }
  count++;
  if (kind == FaultKindNone && traceLength + strlen(name) + strlen(path) + 3 < sizeof trace) {
    traceLength += (size_t)sprintf(trace + traceLength, "%s %s\n", name, path + folderLength);
  }
  if (chosen > 0 && (count == chosen || (kind == FaultKindLasting && count > chosen))) {
    if (count == chosen) {
      const char *last = strrchr(path, '/');
      snprintf(call, sizeof call, "%s %s", name, last ? last + 1 : path);
    }
    if (kind == FaultKindKill) {
      if (!writes) killProcess();
      result = 2;
    } else if (kind != FaultKindNone) {
      errno = failure;
      result = 1;
    }
  }
  pthread_mutex_unlock(&lock);
  return result;
}

static int isChosenFile(const char *name, int descriptor, int writes) {
  if (!isArmed) return 0;
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return isChosen(name, path, writes);
}

/// As isChosen, for a path from an open directory on.
static int isChosenAt(const char *name, int descriptor, const char *path) {
  if (!isArmed || path == NULL) return 0;
  if (path[0] == '/' || descriptor == AT_FDCWD) return isChosen(name, path, 0);
  char link[64], full[8192];
  snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
  ssize_t length = readlink(link, full, 4095);
  if (length < 0) return 0;
  snprintf(full + length, sizeof full - (size_t)length, "/%s", path);
  return isChosen(name, full, 0);
}

#define REAL(name)                                                                        \
  static _Atomic(void *) found = NULL;                                                    \
  if (atomic_load(&found) == NULL) atomic_store(&found, dlsym(RTLD_NEXT, #name));         \
  __typeof__(&name) real = (__typeof__(&name))atomic_load(&found)

#define OPEN(name)                                          \
  int name(const char *path, int flags, ...) {              \
    va_list list;                                           \
    va_start(list, flags);                                  \
    mode_t mode = (mode_t)va_arg(list, int);                \
    va_end(list);                                           \
    REAL(name);                                             \
    if (isChosen("open", path, 0)) return -1;               \
    return real(path, flags, mode);                         \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(name)                                            \
  int name(int descriptor, const char *path, int flags, ...) {  \
    va_list list;                                               \
    va_start(list, flags);                                      \
    mode_t mode = (mode_t)va_arg(list, int);                    \
    va_end(list);                                               \
    REAL(name);                                                 \
    if (isChosenAt("open", descriptor, path)) return -1;        \
    return real(descriptor, path, flags, mode);                 \
  }
OPENAT(openat)
OPENAT(openat64)

ssize_t write(int descriptor, const void *bytes, size_t size) {
  REAL(write);
  switch (isChosenFile("write", descriptor, 1)) {
  case 1: return -1;
  case 2: real(descriptor, bytes, size / 2); killProcess();
  }
  return real(descriptor, bytes, size);
}

#define PWRITE(name, offset_type)                                                   \
  ssize_t name(int descriptor, const void *bytes, size_t size, offset_type offset) { \
    REAL(name);                                                                     \
    switch (isChosenFile("write", descriptor, 1)) {                                 \
    case 1: return -1;                                                              \
    case 2: real(descriptor, bytes, size / 2, offset); killProcess();               \
    }                                                                               \
    return real(descriptor, bytes, size, offset);                                   \
  }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define ON_FILE(type, name, word, parameters, arguments)  \
  type name parameters {                                  \
    REAL(name);                                           \
    if (isChosenFile(word, descriptor, 0)) return -1;     \
    return real arguments;                                \
  }
ON_FILE(int, fsync, "sync", (int descriptor), (descriptor))
ON_FILE(int, fdatasync, "sync", (int descriptor), (descriptor))
ON_FILE(int, ftruncate, "truncate", (int descriptor, off_t size), (descriptor, size))
ON_FILE(int, ftruncate64, "truncate", (int descriptor, off64_t size), (descriptor, size))
ON_FILE(ssize_t, writev, "write", (int descriptor, const struct iovec *parts, int number), (descriptor, parts, number))

#define ON_PATH(name, word, parameters, arguments)  \
  int name parameters {                             \
    REAL(name);                                     \
    if (isChosen(word, path, 0)) return -1;         \
    return real arguments;                          \
  }
ON_PATH(truncate, "truncate", (const char *path, off_t size), (path, size))
ON_PATH(truncate64, "truncate", (const char *path, off64_t size), (path, size))
ON_PATH(rename, "rename", (const char *path, const char *to), (path, to))
ON_PATH(link, "link", (const char *path, const char *to), (path, to))
ON_PATH(mkdir, "mkdir", (const char *path, mode_t mode), (path, mode))
ON_PATH(rmdir, "rmdir", (const char *path), (path))
ON_PATH(unlink, "unlink", (const char *path), (path))
ON_PATH(chmod, "chmod", (const char *path, mode_t mode), (path, mode))

ON_FILE(int, fchmod, "chmod", (int descriptor, mode_t mode), (descriptor, mode))
ON_FILE(int, fchown, "chown", (int descriptor, uid_t user, gid_t group), (descriptor, user, group))

#define ON_ENTRY(name, word, parameters, arguments)            \
  int name parameters {                                        \
    REAL(name);                                                \
    if (isChosenAt(word, descriptor, path)) return -1;         \
    return real arguments;                                     \
  }
ON_ENTRY(unlinkat, (flags & AT_REMOVEDIR) != 0 ? "rmdir" : "unlink", (int descriptor, const char *path, int flags),
         (descriptor, path, flags))
ON_ENTRY(mkdirat, "mkdir", (int descriptor, const char *path, mode_t mode), (descriptor, path, mode))
ON_ENTRY(fchmodat, "chmod", (int descriptor, const char *path, mode_t mode, int flags),
         (descriptor, path, mode, flags))
ON_ENTRY(renameat, "rename", (int descriptor, const char *path, int to, const char *name),
         (descriptor, path, to, name))
ON_ENTRY(linkat, "link", (int descriptor, const char *path, int to, const char *name, int flags),
         (descriptor, path, to, name, flags))

#else

void faultInjectionArm(const char *path, long number, int what, int error) {}
long faultInjectionDisarm(void) { return 0; }
const char *faultInjectionCall(void) { return ""; }
const char *faultInjectionTrace(void) { return ""; }

#endif
