// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Notifies the observers of models whose rows a context reads again because another context has saved them.
final class MergedChanges {
  /// The values of a row before it is read again.
  private struct Former {
    let row: ModelRow
    let layout: ModelLayout
    let values: [String: Any]
  }

  private var former: [Former] = []
  private var observer: (any NSObjectProtocol)?

  deinit {
    if let observer { NotificationCenter.default.removeObserver(observer) }
  }

  /// Begins to notify observers of what a context merges.
  func observe(_ context: ContextCore) {
    guard observer == nil else { return }
    // The context posts it on its own queue.
    observer = NotificationCenter.default.addObserver(
      forName: NSManagedObjectContext.didMergeChangesObjectIDsNotification, object: context.managed, queue: nil
    ) { [weak context] _ in context?.finishMerge() }
  }

  /// Keeps the values of a row that is about to turn into a fault.
  func note(_ row: ModelRow, _ layout: ModelLayout) {
    guard observer != nil, !row.hasChanges else { return }
    former.append(Former(row: row, layout: layout, values: row.committedValues(forKeys: layout.comparableNames)))
  }

  /// Forgets the rows that turned into faults for another reason than a merge.
  func discard() { former = [] }

  /// Notifies the observers of the properties whose values differ now.
  func finish(_ context: NSManagedObjectContext) {
    let former = self.former.filter { $0.row.model != nil }
    self.former = []
    read(former.map(\.row), context)
    for old in former {
      // The models of a row that was deleted have no values.
      guard old.row.managedObjectContext === context, !old.row.isDeleted else { continue }
      let new = old.row.committedValues(forKeys: old.layout.comparableNames)
      old.row.notifyAll(
        old.layout.slots.filter { slot in
          guard let value = old.values[slot.name] else { return slot.isToMany }
          // Values that cannot be compared may have changed.
          return value as? AnyHashable != new[slot.name] as? AnyHashable || !(value is AnyHashable)
        })
    }
  }

  /// Reads rows together, which their models would read one by one.
  private func read(_ rows: [ModelRow], _ context: NSManagedObjectContext) {
    for (name, group) in Dictionary(grouping: rows, by: { $0.entity.name ?? "" }) where group.count > 1 {
      let request = NSFetchRequest<ModelRow>(entityName: name)
      request.predicate = NSPredicate(format: "SELF IN %@", group.map(\.objectID))
      request.includesPendingChanges = false
      // If this fails, each row is read by itself, and the next save reports the error.
      _ = try? context.fetch(request)
    }
  }
}

extension PropertySlot {
  var isToMany: Bool { if case .toMany = kind { true } else { false } }
}

extension ModelLayout {
  /// The names of attributes and to-one relationships, whose values can be compared.
  fileprivate var comparableNames: [String] {
    slots.filter { slot in
      switch slot.kind {
      case .attribute, .toOne: !slot.isTransient
      case .toMany, .unstorable: false
      }
    }.map(\.name)
  }
}
