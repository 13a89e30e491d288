// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The rows of the temporary identifiers that the program has asked for, also after the rows have been saved.
struct TemporaryIdentifiers {
  private var unsaved: [PersistentIdentifier: ModelRow] = [:]
  private var saved: [PersistentIdentifier: NSManagedObjectID] = [:]

  mutating func add(_ identifier: PersistentIdentifier, of row: ModelRow) {
    if row.objectID.isTemporaryID { unsaved[identifier] = row } else { saved[identifier] = row.objectID }
  }

  /// Remembers the permanent identifiers that a save has given the rows.
  mutating func noteSave() {
    for (identifier, row) in unsaved where !row.objectID.isTemporaryID {
      if saved[identifier] == nil { saved[identifier] = row.objectID }
    }
    unsaved = [:]
  }

  /// Forgets the rows whose insertion is undone.
  mutating func removeUnsaved() { unsaved = [:] }

  func unsavedRow(for identifier: PersistentIdentifier) -> ModelRow? {
    unsaved[identifier].flatMap { $0.managedObjectContext == nil ? nil : $0 }
  }

  func objectID(for identifier: PersistentIdentifier) -> NSManagedObjectID? {
    saved[identifier] ?? unsavedRow(for: identifier)?.objectID
  }
}
