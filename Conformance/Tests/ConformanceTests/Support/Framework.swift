// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Testing

/// The framework that the tests were compiled against.
enum Framework {
  #if canImport(Darwin)
  static let isOpenCoreData = false
  #else
  static let isOpenCoreData = true
  #endif
}

/// Checks a rule of Apple's that DEVIATIONS.md says OpenCoreData does not follow. Apple's framework must follow it, and
/// OpenCoreData must not: if it does, the list of deviations is out of date.
func deviation(_ comment: Comment, _ body: () throws -> Void) rethrows {
  try withKnownIssue(comment, body, when: { Framework.isOpenCoreData })
}

/// Nothing was thrown where a test says that something is.
struct NothingThrown: Error {}

/// The error that the work throws.
/// - Throws: `NothingThrown` if it throws none.
func thrown(_ work: () throws -> Void) throws -> NSError {
  guard let error = error(of: work) else { throw NothingThrown() }
  return error
}

/// The error that the work throws; nil if it throws none.
func error(of work: () throws -> Void) -> NSError? {
  do {
    try work()
    return nil
  } catch {
    return error as NSError
  }
}

/// Whether an error is one of the tests' own with this code, or has it as the underlying one.
func carries(_ failure: NSError, code: Int) -> Bool {
  let underlying = failure.userInfo[NSUnderlyingErrorKey] as? NSError
  return [failure, underlying].compactMap { $0 }.contains { $0.domain == "Conformance" && $0.code == code }
}
