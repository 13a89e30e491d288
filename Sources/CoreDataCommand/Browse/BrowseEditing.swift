// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTerminal
import Foundation

/// Changes the store for the forms of `store browse --write`, as `store set` and `store delete` do.
///
/// The store is opened for a change only, so that other programs can use it in between. Used on one thread.
final class BrowseEditing {
  private let invocation: CommandInvocation
  /// A secret in each form, which no other site can know.
  let token: String
  /// The backup, which was made before the first change.
  private(set) var backup: URL?
  private var hasChanged = false

  init(_ invocation: CommandInvocation) {
    self.invocation = invocation
    token = BrowseSite.secret()
  }

  /// A change that a form asks for.
  enum Change {
    case edit(entity: String, reference: String)
    case insert(entity: String)
    case delete(entity: String, reference: String)

    /// - Parameter path: the parts of the request's path, without the secret.
    init?(path: [String]) {
      switch (path.first, path.count) {
      case ("edit", 3): self = .edit(entity: path[1], reference: path[2])
      case ("new", 2): self = .insert(entity: path[1])
      case ("delete", 3): self = .delete(entity: path[1], reference: path[2])
      default: return nil
      }
    }
  }

  /// What was changed.
  enum Outcome {
    case saved(entity: String, reference: String)
    case unchanged(entity: String, reference: String)
    case deleted(entity: String)
  }

  /// The object differs from what the form has shown.
  struct Outdated: Error {}

  /// Carries out a change. The store must not be open in this process.
  ///
  /// - Throws: `Outdated`; `BrowseProblem` if there is no such object; `CommandFailure` if the store is in use, or a rule
  ///   would be broken. Nothing was changed.
  func carryOut(_ change: Change, _ form: FormFields) throws -> Outcome {
    try EditableStore.with(invocation, isDryRun: false, makesBackup: !hasChanged) { store in
      switch change {
      case .insert(let name):
        guard let entity = store.entities[name], !entity.isAbstract else { throw BrowseProblem.noEntity(name) }
        let object = NSManagedObject(entity: entity, insertInto: store.context)
        for assignment in ObjectForm(object, version: 0).assignments(form) {
          try assignment.apply(to: object, in: store)
        }
        note(try store.save())
        let place = BrowsedStore.place(of: object.objectID)
        return .saved(entity: place.entity, reference: place.reference)
      case .edit(let entity, let reference):
        let (object, shown) = try found(entity, reference, form, store)
        guard let edit = try ObjectEdit(setting: shown.assignments(form), of: object, in: store) else {
          return .unchanged(entity: entity, reference: reference)
        }
        note(edit.backup)
        return .saved(entity: entity, reference: reference)
      case .delete(let entity, let reference):
        let (object, _) = try found(entity, reference, form, store)
        _ = try ObjectDeletion(of: [object], in: store)
        note(try store.save())
        return .deleted(entity: entity)
      }
    }
  }

  private func found(
    _ entity: String, _ reference: String, _ form: FormFields, _ store: EditableStore
  ) throws -> (NSManagedObject, ObjectForm) {
    guard store.entities[entity] != nil, let object = try store.existing("\(entity)/\(reference)") else {
      throw BrowseProblem.noObject("\(entity) \(reference)")
    }
    let shown = ObjectForm(object, version: try store.store.version(of: object.objectID, store.coordinator))
    guard form["state"] == shown.state else { throw Outdated() }
    return (object, shown)
  }

  private func note(_ backup: URL?) {
    if !hasChanged { self.backup = backup }
    hasChanged = true
  }
}
