// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// An error of SwiftData.
///
/// Beyond Apple's, it says what happened in words and carries its cause. Errors are equal if their codes are.
public struct SwiftDataError: Error, Sendable {
  enum Code: String, Sendable, CaseIterable {
    case unsupportedPredicate, unsupportedSortDescriptor, unsupportedKeyPath, includePendingChangesWithBatchSize
    case sortingPendingChangesWithIdentifiers, missingModelContext, modelValidationFailure, loadIssueModelContainer
    case unknownSchema, backwardMigration, duplicateConfiguration, configurationFileNameContainsInvalidCharacters
    case configurationFileNameTooLong, configurationSchemaNotFoundInContainerSchema, historyTokenExpired
    case invalidTransactionFetchRequest
  }

  let code: Code
  /// What happened, and what to do; nil for a constant. An addition to Apple's API.
  public let explanation: String?
  /// The error that caused this one: Core Data's `NSError` with its code, an error that the program's own code threw,
  /// or another `SwiftDataError`. An addition to Apple's API.
  public let underlyingError: (any Error)?
  private let place: Place

  /// The entity and the property that an error concerns.
  private struct Place: Sendable {
    var entity: String?
    var property: String?
    /// Whether the explanation says what to do about the cause.
    var isAdvised = false
  }

  /// - Parameter isAdvised: whether the explanation says what to do, so that the advice of the cause is left out.
  init(
    _ code: Code, _ explanation: String? = nil, cause: (any Error)? = nil, isAdvised: Bool = false,
    entity: String? = nil, property: String? = nil
  ) {
    self.code = code
    self.explanation = explanation
    underlyingError = cause
    place = Place(entity: entity, property: property, isAdvised: isAdvised)
  }

  /// The name of the entity that the error, or its cause, concerns. An addition to Apple's API.
  public var entity: String? { place.entity ?? cause(\.entity, \.entity, ErrorDetail.entity) }

  /// The name of the property that the error, or its cause, concerns. An addition to Apple's API.
  public var property: String? { place.property ?? cause(\.property, \.property, ErrorDetail.property) }

  private func cause(
    _ ofError: (SwiftDataError) -> String?, _ ofIssue: (SchemaIssue) -> String, _ key: String
  ) -> String? {
    switch underlyingError {
    case let error as SwiftDataError: return ofError(error)
    case let issue as SchemaIssue: return ofIssue(issue).isEmpty ? nil : ofIssue(issue)
    case let error?: return (error as NSError).userInfo[key] as? String
    case nil: return nil
    }
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

  /// Returns whether an error, or one of its causes, is this one, in a `catch` clause: a container that cannot be made
  /// because of the store's version throws `loadIssueModelContainer`, whose cause is `unknownSchema`.
  public static func ~= (pattern: SwiftDataError, error: any Error) -> Bool {
    var next: SwiftDataError? = error as? SwiftDataError
    while let error = next {
      if error.code == pattern.code { return true }
      next = error.underlyingError as? SwiftDataError
    }
    return false
  }
}

extension SwiftDataError: Hashable {
  /// Returns whether both have the same code.
  public static func == (left: SwiftDataError, right: SwiftDataError) -> Bool { left.code == right.code }
  /// Hashes the code.
  public func hash(into hasher: inout Hasher) { hasher.combine(code) }
}

extension SwiftDataError: CustomStringConvertible {
  /// The code, what happened, and the cause.
  public var description: String { "\(code.rawValue): \(sentences)" }

  /// What happened, and the cause, in sentences.
  private var sentences: String {
    // A cause that is an error of this type explains more than the sentence of a code.
    let inner = underlyingError as? SwiftDataError
    let own = explanation ?? (inner == nil ? code.sentence : nil)
    let cause = inner.map(\.sentences) ?? underlyingError.map { Self.words(of: $0, withAdvice: !place.isAdvised) }
    return [own, cause].compactMap { $0 }.joined(separator: " ")
  }

  /// Returns what an error says, without the frame that Foundation puts around it.
  static func words(of error: any Error, withAdvice: Bool = true) -> String {
    let isOfFoundation = type(of: error) == CocoaError.self
    if isOfFoundation || type(of: error) is NSError.Type {
      let error = error as NSError
      // The words of Foundation's own errors do not name the file.
      let file = isOfFoundation ? error.userInfo[NSFilePathErrorKey] as? String : nil
      let advice = withAdvice ? CoreDataAdvice.text(for: error) : nil
      let place = file.map { "The file is \($0)." }
      let texts = [error.localizedDescription, error.localizedFailureReason, place, advice]
      var seen: Set<String> = []
      let words = texts.compactMap { $0 }.filter { seen.insert($0).inserted }.joined(separator: " ")
      return "\(words) (\(error.domain) \(error.code))"
    }
    if let issue = error as? SchemaIssue { return issue.description }
    if let words = (error as? any LocalizedError)?.errorDescription { return words }
    return "\(type(of: error)): \(error)"
  }
}

extension SwiftDataError: LocalizedError, CustomNSError {
  /// What happened, and the cause, in sentences.
  public var errorDescription: String? { sentences }

  /// The domain of the error as an `NSError`.
  public static var errorDomain: String { "SwiftData.SwiftDataError" }
  /// The position of the code among all of them.
  public var errorCode: Int { Code.allCases.firstIndex(of: code) ?? 0 }
  /// The description, the cause, the entity and the property.
  public var errorUserInfo: [String: Any] {
    var info: [String: Any] = [NSLocalizedDescriptionKey: sentences]
    info[NSUnderlyingErrorKey] = underlyingError
    info[ErrorDetail.entity] = entity
    info[ErrorDetail.property] = property
    return info
  }
}

extension SwiftDataError.Code {
  /// What the code says without an explanation.
  fileprivate var sentence: String {
    switch self {
    case .unsupportedPredicate: "The predicate contains an operation that a store cannot perform."
    case .unsupportedSortDescriptor: "The sort descriptor cannot be performed by a store."
    case .unsupportedKeyPath: "The key path is not that of a stored property."
    case .includePendingChangesWithBatchSize: "A fetch in batches cannot include unsaved changes."
    case .sortingPendingChangesWithIdentifiers: "Identifiers alone cannot be sorted with unsaved changes."
    case .missingModelContext: "The model belongs to no context."
    case .modelValidationFailure: "A model has values that its schema does not allow."
    case .loadIssueModelContainer: "The model container could not be made."
    case .unknownSchema: "The store's version is none of the migration plan."
    case .backwardMigration: "The store's version is later than the schema."
    case .duplicateConfiguration: "Two configurations have the same name or file."
    case .configurationFileNameContainsInvalidCharacters: "The name of a configuration cannot be a file name."
    case .configurationFileNameTooLong: "The name of a configuration is too long for a file name."
    case .configurationSchemaNotFoundInContainerSchema:
      "A configuration's schema contains entities that the container's schema lacks."
    case .historyTokenExpired: "The history that follows a token has been deleted."
    case .invalidTransactionFetchRequest: "The request for history cannot be performed."
    }
  }
}
