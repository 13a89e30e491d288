// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// Why changes were not saved, in terms of what the user of the tool has named: lines of a file, and objects of the store.
struct SaveFailure {
  let failure: CommandFailure

  /// The maximum number of broken rules that are listed.
  private static let maxCount = 10

  /// - Parameter lines: the lines of a file that objects come from.
  init(_ error: NSError, _ address: StoreAddress, _ lines: RecordLines) {
    let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [Any] ?? []
    let constraints = conflicts.compactMap { $0 as? NSConstraintConflict }
    let outdated = conflicts.compactMap { $0 as? NSMergeConflict }
    if !constraints.isEmpty {
      failure = Self.failure(
        address, constraints.map { Self.text($0, lines) }, "unique values would occur more than once",
        cure: Self.cure(constraints, lines))
    } else if !outdated.isEmpty {
      failure = Self.failure(
        address, outdated.map { "\(Self.places([$0.sourceObject], lines)) was changed in the store meanwhile." },
        "objects were changed in the store meanwhile", cure: "Run the command again.")
    } else {
      let errors = error.userInfo[NSDetailedErrorsKey] as? [NSError] ?? [error]
      let isOfStore = errors.count == 1 && error.userInfo[NSValidationObjectErrorKey] == nil
      let message = CommandFailure(error).message
      if isOfStore {
        let isComplete = message.lowercased().contains("nothing was changed")
        failure = CommandFailure(CommandFailure(error).status, message + (isComplete ? "" : " Nothing was changed."))
      } else {
        failure = Self.failure(
          address, errors.map { Self.text($0, lines) }, "rules of its model would be broken", separator: ". ")
      }
    }
  }

  private static func failure(
    _ address: StoreAddress, _ texts: [String], _ summary: String, separator: String = ": ", cure: String? = nil
  ) -> CommandFailure {
    if texts.count == 1, let text = texts.first {
      return CommandFailure(
        .failed, "\(address.name) was not changed\(separator)\(text)" + (cure.map { " \($0)" } ?? ""))
    }
    let others = texts.count - maxCount
    return CommandFailure(
      .failed, "\(address.name) was not changed, because \(texts.count) \(summary).",
      advice: texts.prefix(maxCount) + (others > 0 ? ["and \(others) more"] : []) + [cure].compactMap { $0 })
  }

  // MARK: Broken rules

  private static func text(_ error: NSError, _ lines: RecordLines) -> String {
    let sentence = CommandFailure(error).message
    guard let object = error.userInfo[NSValidationObjectErrorKey] as? NSManagedObject else { return sentence }
    return "\(places([object], lines)): \(sentence)"
  }

  /// Returns a text such as `line 4 has the Customer.email of Customer/p1, which must be unique.`
  private static func text(_ conflict: NSConstraintConflict, _ lines: RecordLines) -> String {
    let objects = conflict.conflictingObjects
    let entity = objects.first?.entity.name ?? ""
    let names = conflict.constraint.map { "\(entity).\($0)" }.joined(separator: " and ")
    let verb = objects.count == 1 ? "has" : "have"
    let same = conflict.databaseObject.map { "the \(names) of \(name(of: $0))" } ?? "the same \(names)"
    return "\(places(objects, lines)) \(verb) \(same), which must be unique."
  }

  /// Returns what can be done about values that occur more than once.
  private static func cure(_ conflicts: [NSConstraintConflict], _ lines: RecordLines) -> String {
    guard !lines.numbers.isEmpty else {
      let stored = Set(conflicts.compactMap(\.databaseObject)).map { name(of: $0) }.sorted()
      return stored.count == 1
        ? "Choose another value, or change or delete \(stored[0]) first." : "Choose other values."
    }
    let withStored = conflicts.filter { $0.databaseObject != nil }
    // An import has one key, an attribute with one value.
    let keys = Set(
      withStored.map { $0.constraint.count == 1 && !$0.constraint[0].contains(".") ? $0.constraint[0] : "" })
    guard withStored.count == conflicts.count else {
      let keep = "Of the lines with the same values, keep one"
      return keys.count == 1 && keys != [""]
        ? "\(keep), and import with --update-by \(keys.first ?? "") to update the objects of the store." : "\(keep)."
    }
    let change = conflicts.count == 1 ? "Change or remove the line" : "Change or remove the lines"
    guard keys.count == 1, let key = keys.first, !key.isEmpty else { return "\(change)." }
    return "\(change), or import with --update-by \(key) to update the "
      + (conflicts.count == 1 ? "object of the store." : "objects of the store.")
  }

  // MARK: Names

  /// Returns the lines of objects, or the objects where they come from no line.
  private static func places(_ objects: [NSManagedObject], _ lines: RecordLines) -> String {
    let numbers = objects.compactMap { lines.numbers[$0] }.sorted()
    let others = objects.filter { lines.numbers[$0] == nil }.map { name(of: $0) }.sorted()
    return ((numbers.isEmpty ? [] : [lines.text(of: numbers)]) + others).joined(separator: " and ")
  }

  /// Returns the identifier of an object without the store. A failed save leaves new objects with numbers that the
  /// store does not have.
  private static func name(of object: NSManagedObject) -> String {
    object.isInserted ? "a new \(object.entity.name ?? "")" : object.shortID
  }
}
