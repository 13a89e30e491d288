// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How a merge policy resolves conflicts with rows that have changed in the store.
public enum NSMergePolicyType: UInt, Sendable {
  /// The save fails.
  case errorMergePolicyType = 0
  /// Conflicts are resolved by property in favour of the store.
  case mergeByPropertyStoreTrumpMergePolicyType = 1
  /// Conflicts are resolved by property in favour of the context.
  case mergeByPropertyObjectTrumpMergePolicyType = 2
  /// The context's objects replace the conflicting rows.
  case overwriteMergePolicyType = 3
  /// The context's changes of the conflicting rows are discarded.
  case rollbackMergePolicyType = 4
}

/// The way a context resolves conflicts between its changes and those saved in the meantime.
open class NSMergePolicy: NSObject, @unchecked Sendable {
  /// The type of the policy.
  public let mergeType: NSMergePolicyType

  /// Makes a policy.
  ///
  /// - Parameter ty: the type of the policy.
  public init(merge ty: NSMergePolicyType) {
    mergeType = ty
    super.init()
  }

  /// The save fails with 133020.
  public class var error: NSMergePolicy { NSMergePolicy(merge: .errorMergePolicyType) }
  /// Conflicts are resolved by property in favour of the store.
  public class var mergeByPropertyStoreTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyStoreTrumpMergePolicyType)
  }
  /// Conflicts are resolved by property in favour of the context.
  public class var mergeByPropertyObjectTrump: NSMergePolicy {
    NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
  }
  /// The context's objects replace the conflicting rows.
  public class var overwrite: NSMergePolicy { NSMergePolicy(merge: .overwriteMergePolicyType) }
  /// The context's changes of the conflicting rows are discarded.
  public class var rollback: NSMergePolicy { NSMergePolicy(merge: .rollbackMergePolicyType) }
}

/// The policy that makes a save fail.
public let NSErrorMergePolicy = NSMergePolicy.error
/// The policy that resolves conflicts by property in favour of the store.
public let NSMergeByPropertyStoreTrumpMergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
/// The policy that resolves conflicts by property in favour of the context.
public let NSMergeByPropertyObjectTrumpMergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
/// The policy by which the context's objects replace the conflicting rows.
public let NSOverwriteMergePolicy = NSMergePolicy.overwrite
/// The policy that discards the context's changes of the conflicting rows.
public let NSRollbackMergePolicy = NSMergePolicy.rollback

/// Writes changes, and resolves conflicts by the context's merge policy.
struct MergeResolution {
  /// How many times a save is retried if the rows keep changing in the store.
  private static let maximumRounds = 8

  let policy: NSMergePolicyType
  let context: NSManagedObjectContext

  init(policy: Any, context: NSManagedObjectContext) {
    self.policy = (policy as? NSMergePolicy)?.mergeType ?? .errorMergePolicyType
    self.context = context
  }

  func write(_ changes: [RowChange], to store: any RowStore) throws {
    var changes = changes
    var last: RowConflicts?
    for _ in 0..<MergeResolution.maximumRounds {
      do {
        return try store.write(changes, for: context)
      } catch let conflicts as RowConflicts {
        last = conflicts
        if policy == .errorMergePolicyType { break }
        changes = try resolve(conflicts, in: changes)
      }
    }
    throw ObjectGraphErrors.mergeConflict(last?.conflicts ?? [], context: context)
  }

  private func resolve(_ conflicts: RowConflicts, in changes: [RowChange]) throws -> [RowChange] {
    let byKey = Dictionary(conflicts.conflicts.map { ($0.id.key, $0) }) { $1 }
    return changes.compactMap { change in
      guard let conflict = byKey[change.id.key] else { return change }
      return resolve(change, against: conflict.stored)
    }
  }

  /// Returns the change to write over the current row; nil for none.
  private func resolve(_ change: RowChange, against stored: RowSnapshot?) -> RowChange? {
    let object = context.registry[change.id.current.key]
    guard let stored else {
      // Only the overwriting policy inserts a row that is gone again.
      if change.kind == .delete { return nil }
      if policy == .overwriteMergePolicyType {
        object?.snapshot?.version = 0
        return RowChange(
          kind: .insert, id: change.id, old: nil, slots: change.slots, changed: SlotSet(change.slots.indices))
      }
      if let object { context.noteInaccessible(object) }
      return nil
    }
    if change.kind == .delete {
      guard policy != .rollbackMergePolicyType else { return dropped(object, stored) }
      return RowChange(kind: .delete, id: change.id, old: stored, slots: stored.slots, changed: SlotSet())
    }
    switch policy {
    case .rollbackMergePolicyType:
      return dropped(object, stored)
    case .overwriteMergePolicyType:
      object?.snapshot?.version = stored.version
      let slots = change.slots
      let all = slots.indices.filter { position in
        if case .unread = slots[position] { return false }
        return true
      }
      return RowChange(kind: .update, id: change.id, old: stored, slots: slots, changed: SlotSet(all))
    default:
      return merged(change, with: stored, object)
    }
  }

  private func merged(_ change: RowChange, with stored: RowSnapshot, _ object: NSManagedObject?) -> RowChange {
    let old = change.old?.slots ?? []
    var slots = stored.slots
    var changed = SlotSet()
    for position in change.changed {
      let changedInStore = old.indices.contains(position) && !old[position].isSame(as: stored.slots[position])
      if changedInStore, policy == .mergeByPropertyStoreTrumpMergePolicyType, !isToMany(position, object) { continue }
      slots[position] = change.slots[position]
      changed.insert(position)
    }
    var base = stored
    for position in slots.indices where object?.table.isTransient(at: position) ?? false {
      // The store knows nothing of transient values.
      slots[position] = change.slots[position]
    }
    for position in slots.indices where isToMany(position, object) {
      // Members are not part of the row that was read; the context's still hold.
      if old.indices.contains(position) { base.slots[position] = old[position] }
      if !changed.contains(position), old.indices.contains(position) { slots[position] = old[position] }
    }
    object?.snapshot = base
    object?.slots = slots
    return RowChange(kind: .update, id: change.id, old: base, slots: slots, changed: changed)
  }

  private func isToMany(_ position: Int, _ object: NSManagedObject?) -> Bool {
    object?.table.relationship(at: position)?.isToMany ?? false
  }

  private func dropped(_ object: NSManagedObject?, _ stored: RowSnapshot) -> RowChange? {
    if let object {
      context.forgetChanges(of: object)
      object.turnIntoFault(keeping: stored)
    }
    return nil
  }
}
