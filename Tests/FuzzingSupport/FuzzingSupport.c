// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#include "FuzzingSupport.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct Progress {
  _Atomic uint64_t input;
  _Atomic uint64_t nanoseconds;
};

static uint64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

void *fuzzingProgress(const char *path) {
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return NULL;
  void *map = MAP_FAILED;
  if (ftruncate(file, sizeof(struct Progress)) == 0) {
    map = mmap(NULL, sizeof(struct Progress), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  return map == MAP_FAILED ? NULL : map;
}

void fuzzingBegin(void *progress, uint64_t input) {
  struct Progress *place = progress;
  atomic_store(&place->nanoseconds, now());
  atomic_store(&place->input, input);
}

uint64_t fuzzingInput(const void *progress) { return atomic_load(&((struct Progress *)progress)->input); }

double fuzzingAge(const void *progress) {
  uint64_t began = atomic_load(&((struct Progress *)progress)->nanoseconds);
  return began == 0 ? 0 : (double)(now() - began) / 1e9;
}

static void report(int number) {
  char text[] = "fuzzing: signal 00\n";
  text[16] = (char)('0' + number / 10);
  text[17] = (char)('0' + number % 10);
  ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
  (void)written;
  void *frames[64];
  int count = backtrace(frames, 64);
  backtrace_symbols_fd(frames, count, STDERR_FILENO);
  signal(number, SIG_DFL);
  raise(number);
}

void fuzzingReportCrashes(void) {
  // A stack that has overflowed has no room for the handler.
  static char stack[1 << 17];
  stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
  sigaltstack(&alternative, NULL);
  // The first call loads a library, which a handler must not.
  void *frame[1];
  backtrace(frame, 1);
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = report;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  int signals[] = {SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGPROF};
  for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++) sigaction(signals[i], &action, NULL);
}

void fuzzingLimitTime(int seconds) {
  struct itimerval timer = {{0, 0}, {seconds, 0}};
  setitimer(ITIMER_PROF, &timer, NULL);
}

void fuzzingLimitMemory(uint64_t bytes) {
  struct rlimit limit = {bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
}

static volatile sig_atomic_t interrupted;

static void note(int number) {
  (void)number;
  interrupted = 1;
}

void fuzzingNoteInterrupts(void) {
  signal(SIGINT, note);
  signal(SIGTERM, note);
}

int fuzzingIsInterrupted(void) { return interrupted; }

static uint64_t peak(const struct rusage *usage) {
#ifdef __APPLE__
  return (uint64_t)usage->ru_maxrss;
#else
  return (uint64_t)usage->ru_maxrss * 1024;
#endif
}

uint64_t fuzzingPeakMemory(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return peak(&usage);
}

pid_t fuzzingStart(char *const arguments[], const char *output, const char *errors, int limit, uint64_t memory) {
  pid_t process = fork();
  if (process != 0) return process;
  int input = open("/dev/null", O_RDONLY);
  int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  int error = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (input < 0 || out < 0 || error < 0) _exit(126);
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  dup2(input, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(error, STDERR_FILENO);
  struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  if (memory != 0) fuzzingLimitMemory(memory);
  if (limit != 0) {
    struct rlimit time = {(rlim_t)limit, (rlim_t)limit};
    setrlimit(RLIMIT_CPU, &time);
    alarm((unsigned)limit * 6);
  }
  execv(arguments[0], arguments);
  _exit(127);
}

int fuzzingEnded(pid_t process, int waits, struct FuzzingChild *child) {
  int status;
  struct rusage usage;
  pid_t found;
  do {
    found = wait4(process, &status, waits ? 0 : WNOHANG, &usage);
  } while (found < 0 && errno == EINTR);
  if (found <= 0) return (int)found;
  child->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  child->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  child->peak = peak(&usage);
  return 1;
}
