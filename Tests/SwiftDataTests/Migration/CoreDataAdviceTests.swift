// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Testing

@testable import SwiftData

@Suite("What a program can do about an error of Core Data")
struct CoreDataAdviceTests {
  private func error(_ code: Int, _ suggestion: String, _ info: [String: String] = [:]) -> NSError {
    NSError(
      domain: NSCocoaErrorDomain, code: code,
      userInfo: info.merging([
        NSLocalizedDescriptionKey: "It failed.", NSLocalizedFailureReasonErrorKey: "For a reason.",
        NSLocalizedRecoverySuggestionErrorKey: suggestion,
      ]) { $1 })
  }

  @Test(
    "Advice about mapping models, options and the tool is replaced with what SwiftData has",
    arguments: [
      (NSMigrationMissingSourceModelError, "allowedLosses"), (NSInferredMappingModelError, "didMigrate"),
      (NSMigrationConstraintViolationError, "willMigrate"), (NSMigrationError, "an initial value"),
      (NSManagedObjectModelReferenceNotFoundError, "VersionedSchema"),
      (NSPersistentStoreIncompatibleVersionHashError, "make the container again"),
    ])
  func replaced(_ code: Int, _ words: String) {
    let found = SwiftDataError(
      .loadIssueModelContainer,
      cause: error(
        code, "Write a mapping model, or set MigrationOption.allowsLoss, or use --allow.",
        [ErrorDetail.entity: "Item", ErrorDetail.property: "note", ErrorDetail.attribute: "note"])
    ).localizedDescription
    #expect(found.hasPrefix("The model container could not be made. It failed. For a reason. "), "\(found)")
    #expect(found.contains(words), "\(found)")
    for term in ["mapping model", "MigrationOption", "--allow"] { #expect(!found.contains(term), "\(found)") }
    #expect(found.hasSuffix("(NSCocoaErrorDomain \(code))"), "\(found)")
  }

  @Test("Of other advice, only the sentences that a program has no use for are left out")
  func filtered() {
    let both = "Check the disk. To drop them anyway, set MigrationOption.allowsLoss, or use --allow. The store is safe."
    #expect(CoreDataAdvice.text(for: error(256, both)) == "Check the disk. The store is safe.")
    #expect(CoreDataAdvice.text(for: error(256, "Add it to the model bundle.")) == nil)
    #expect(CoreDataAdvice.text(for: error(256, "Open it. See coredata explain VR406.")) == "Open it.")
    #expect(CoreDataAdvice.text(for: error(256, "Check Model.swift. Then retry.")) == "Check Model.swift. Then retry.")
  }

  @Test("An explanation with its own advice leaves that of the cause out, and errors of the program are untouched")
  func advised() {
    let advised = SwiftDataError(
      .loadIssueModelContainer, "Do this.", cause: error(256, "Do that."), isAdvised: true)
    #expect(advised.localizedDescription == "Do this. It failed. For a reason. (NSCocoaErrorDomain 256)")
    let own = NSError(
      domain: "Shop", code: 1,
      userInfo: [NSLocalizedDescriptionKey: "No.", NSLocalizedRecoverySuggestionErrorKey: "Use --allow."])
    #expect(
      SwiftDataError(.loadIssueModelContainer, "Why.", cause: own).localizedDescription.hasSuffix(
        "Why. No. Use --allow. (Shop 1)"))
  }
}
