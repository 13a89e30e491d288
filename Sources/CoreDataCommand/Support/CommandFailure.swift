// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataFileSystem
import CoreDataModelFiles
import CoreDataStoreFiles
import CoreDataTerminal
import Foundation

/// The failure of a command: a message and an exit status.
struct CommandFailure: Error {
  let status: ExitStatus
  let message: String
  /// Lines to indent below the message, such as commands to try.
  var advice: [String] = []

  init(_ status: ExitStatus, _ message: String, advice: [String] = []) {
    self.status = status
    self.message = message
    self.advice = advice
  }

  /// Translates an error of the library.
  init(_ error: any Error) {
    switch error {
    case let failure as CommandFailure:
      self = failure
    case let error as ModelFileError:
      self.init(.invalidModel, error.description)
    case let failure as FileFailure:
      self.init(
        .failed, "Cannot \(failure.operation) '\(failure.path)': \(String(cString: strerror(failure.number))).")
    case let problem as SchemaProblem:
      self.init(.invalidModel, problem.description)
    case let problem as StoreProblem:
      self.init(problem.kind == .interrupted ? .interruptedWorkFound : .unreadableStore, problem.description)
    default:
      self.init(Self.status(of: error as NSError), Self.sentence(of: error as NSError))
    }
  }

  /// The text for standard error.
  var text: String {
    (["error: \(message)"] + advice.map { "  \($0)" }).joined(separator: "\n") + "\n"
  }

  /// The failure as a line of JSON, like the other events on standard error.
  var json: String {
    let text: JSONText = [
      "event": "error", "status": .integer(Int(status.rawValue)), "message": .string(message),
      "advice": .array(advice.map { .string($0) }),
    ]
    return text.line() + "\n"
  }

  private static func status(of error: NSError) -> ExitStatus {
    guard error.domain == NSCocoaErrorDomain else { return .failed }
    // A model or a mapping model could not be read.
    if error.userInfo[NSUnderlyingErrorKey] is ModelFileError { return .invalidModel }
    switch error.code {
    case NSMigrationMissingMappingModelError, NSInferredMappingModelError: return .migrationImpossible
    case NSMigrationMissingSourceModelError, NSPersistentStoreIncompatibleVersionHashError, NSPersistentStoreOpenError,
      NSPersistentStoreInvalidTypeError, NSPersistentStoreTypeMismatchError, NSPersistentStoreTimeoutError:
      return .unreadableStore
    case NSMigrationCancelledError: return .stopped
    default: return .failed
    }
  }

  private static func sentence(of error: NSError) -> String {
    let parts = [error.localizedDescription, error.localizedFailureReason, error.localizedRecoverySuggestion]
    var sentences: [String] = []
    for part in parts.compactMap({ $0 }) where !sentences.contains(part) { sentences.append(part) }
    return sentences.joined(separator: " ")
  }
}
