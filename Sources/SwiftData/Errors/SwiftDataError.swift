// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// An error of SwiftData.
///
/// Beyond Apple's, it says what happened in words and carries its cause. Errors are equal if their codes are.
public struct SwiftDataError: Error, Sendable {
  enum Code: String, Sendable {
    case unsupportedPredicate, unsupportedSortDescriptor, unsupportedKeyPath, includePendingChangesWithBatchSize
    case sortingPendingChangesWithIdentifiers, missingModelContext, modelValidationFailure, loadIssueModelContainer
    case unknownSchema, backwardMigration, duplicateConfiguration, configurationFileNameContainsInvalidCharacters
    case configurationFileNameTooLong, configurationSchemaNotFoundInContainerSchema, historyTokenExpired
    case invalidTransactionFetchRequest
  }

  let code: Code
  /// What happened, and what to do; nil for a constant.
  public let explanation: String?
  /// The error that caused this one. An addition to Apple's API.
  public let underlyingError: (any Error)?

  init(_ code: Code, _ explanation: String? = nil, cause: (any Error)? = nil) {
    self.code = code
    self.explanation = explanation
    underlyingError = cause
  }

  /// The predicate contains an operation that a store cannot perform.
  public static let unsupportedPredicate = SwiftDataError(.unsupportedPredicate)
  /// The sort descriptor cannot be performed by a store.
  public static let unsupportedSortDescriptor = SwiftDataError(.unsupportedSortDescriptor)
  /// The key path is not that of a stored property.
  public static let unsupportedKeyPath = SwiftDataError(.unsupportedKeyPath)
  /// A fetch in batches cannot include unsaved changes.
  public static let includePendingChangesWithBatchSize = SwiftDataError(.includePendingChangesWithBatchSize)
  /// Identifiers alone cannot be sorted with unsaved changes.
  public static let sortingPendingChangesWithIdentifiers = SwiftDataError(.sortingPendingChangesWithIdentifiers)
  /// The model belongs to no context.
  public static let missingModelContext = SwiftDataError(.missingModelContext)
  /// A model has values that its schema does not allow.
  public static let modelValidationFailure = SwiftDataError(.modelValidationFailure)
  /// A container could not be made.
  public static let loadIssueModelContainer = SwiftDataError(.loadIssueModelContainer)
  /// The store's version is none of the migration plan.
  public static let unknownSchema = SwiftDataError(.unknownSchema)
  /// The store's version is later than the schema.
  public static let backwardMigration = SwiftDataError(.backwardMigration)
  /// Two configurations have the same name or file.
  public static let duplicateConfiguration = SwiftDataError(.duplicateConfiguration)
  /// The name of a configuration cannot be a file name.
  public static let configurationFileNameContainsInvalidCharacters = SwiftDataError(
    .configurationFileNameContainsInvalidCharacters)
  /// The name of a configuration is too long for a file name.
  public static let configurationFileNameTooLong = SwiftDataError(.configurationFileNameTooLong)
  /// A configuration's schema contains entities that the container's schema lacks.
  public static let configurationSchemaNotFoundInContainerSchema = SwiftDataError(
    .configurationSchemaNotFoundInContainerSchema)
  /// The history that follows a token has been deleted.
  public static let historyTokenExpired = SwiftDataError(.historyTokenExpired)
  /// The request for history cannot be performed.
  public static let invalidTransactionFetchRequest = SwiftDataError(.invalidTransactionFetchRequest)

  /// Returns whether an error is this one, in a `catch` clause.
  public static func ~= (pattern: SwiftDataError, error: any Error) -> Bool {
    (error as? SwiftDataError)?.code == pattern.code
  }
}

extension SwiftDataError: Hashable {
  /// Returns whether both have the same code.
  public static func == (left: SwiftDataError, right: SwiftDataError) -> Bool { left.code == right.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension SwiftDataError: LocalizedError, CustomStringConvertible {
  /// The code, what happened, and the cause.
  public var description: String {
    var parts = [code.rawValue]
    if let explanation { parts.append(explanation) }
    if let cause = underlyingError { parts.append(Self.words(of: cause)) }
    return parts.joined(separator: ": ")
  }

  /// The same as `description`.
  public var errorDescription: String? { description }

  /// Returns what an error says, without the frame that Foundation puts around it.
  static func words(of error: any Error) -> String {
    if type(of: error) is NSError.Type {
      let error = error as NSError
      let texts = [error.localizedDescription, error.localizedFailureReason, error.localizedRecoverySuggestion]
      return "\(texts.compactMap { $0 }.joined(separator: " ")) (\(error.domain) \(error.code))"
    }
    return String(describing: error)
  }
}
