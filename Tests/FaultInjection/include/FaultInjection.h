// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#ifndef FAULT_INJECTION_H
#define FAULT_INJECTION_H

/// What happens at the chosen call of the file system.
enum FaultKind {
  /// Nothing: calls are counted.
  FaultKindNone = 0,
  /// The call fails, and those after it succeed.
  FaultKindOnce = 1,
  /// The call fails, and so do all after it.
  FaultKindLasting = 2,
  /// The process is killed before the call; a call that writes has written half of its bytes.
  FaultKindKill = 3,
};

/// Begins to count the calls that change files below a folder, or open them. Calls on other files are not touched.
///
/// @param folder An absolute path.
/// @param number The call to be chosen, from 1; 0 for none.
/// @param kind What happens then.
/// @param error The number of the system's error that a failing call gives.
void faultInjectionArm(const char *folder, long number, int kind, int error);

/// Ends it.
/// @return How many calls were counted.
long faultInjectionDisarm(void);

/// The name of the call that was chosen, and the last part of its path; empty while none was.
const char *faultInjectionCall(void);

/// The calls that were counted, where none was to fail: a line for each, with its name and the path from the folder on.
const char *faultInjectionTrace(void);

#endif
