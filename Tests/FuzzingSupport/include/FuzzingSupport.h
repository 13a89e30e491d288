// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#ifndef FUZZING_SUPPORT_H
#define FUZZING_SUPPORT_H

#include <stdint.h>
#include <sys/types.h>

/// Maps a file that tells the supervisor how far a worker is, whatever becomes of the worker.
///
/// @return NULL where the file cannot be mapped.
void *fuzzingProgress(const char *path);

/// Notes the number of the input that begins, and the time.
void fuzzingBegin(void *progress, uint64_t input);

/// The number of the input that began last.
uint64_t fuzzingInput(const void *progress);

/// Seconds since the last input began.
double fuzzingAge(const void *progress);

/// Has a crash print its signal and a backtrace to standard error before it ends the process.
void fuzzingReportCrashes(void);

/// Ends the process with SIGPROF after so many seconds of its processor time; 0 for no limit. Each call starts anew.
void fuzzingLimitTime(int seconds);

/// Limits the address space, so that a runaway allocation fails instead of taking the machine's memory.
void fuzzingLimitMemory(uint64_t bytes);

/// The largest amount of memory that this process has had, in bytes.
uint64_t fuzzingPeakMemory(void);

/// Notes SIGINT and SIGTERM, which end the process otherwise.
void fuzzingNoteInterrupts(void);

/// Whether there was such a signal.
int fuzzingIsInterrupted(void);

/// How a child process ended.
struct FuzzingChild {
  /// The exit status; -1 for a process that was ended by a signal.
  int status;
  /// The signal that ended it; 0 for none.
  int signal;
  /// The most memory it had, in bytes.
  uint64_t peak;
};

/// Starts a program with its output and errors going to files.
///
/// @param limit Seconds of processor time; 0 for no limit. Six times as many may pass on the clock.
/// @return The process, or -1.
pid_t fuzzingStart(char *const arguments[], const char *output, const char *errors, int limit, uint64_t memory);

/// Looks whether a child has ended.
///
/// @param waits Whether to wait for it.
/// @return 1 when it has ended, 0 when it runs, -1 where there is no such child.
int fuzzingEnded(pid_t process, int waits, struct FuzzingChild *child);

#endif
