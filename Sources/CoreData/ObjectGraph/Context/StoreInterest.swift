// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A store that is notified of the objects that contexts register.
protocol RegistrationObserver: NSPersistentStore {
  func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID])
  func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID])
}

/// The objects of such stores that a context has registered, and the pending notifications.
///
/// Objects are registered and released on any thread, under the lock of their registry. So the stores are notified
/// later, on the queue of their coordinator, with exclusive access to the stores, and in order.
final class StoreInterest {
  /// Whether the program has created a store that is notified.
  static let isNeeded = Atomic<Bool>(false)

  private struct Report {
    let isRegistered: Bool
    let store: any RegistrationObserver
    var ids: [NSManagedObjectID]
  }

  private let lock = NSLock()
  private var registered: [ObjectKey: NSManagedObjectID] = [:]
  private var reports: [Report] = []

  /// Records that the context has registered an object.
  func add(_ id: NSManagedObjectID) {
    guard let store = id.persistentStore as? any RegistrationObserver else { return }
    lock.withLock {
      guard registered.updateValue(id, forKey: id.key) == nil else { return }
      note(id, of: store, isRegistered: true)
    }
  }

  /// Records that the context no longer has an object with a key.
  func remove(_ key: ObjectKey) {
    lock.withLock {
      guard let id = registered.removeValue(forKey: key), let store = id.persistentStore as? any RegistrationObserver
      else {
        return
      }
      note(id, of: store, isRegistered: false)
    }
  }

  /// Records that the context no longer has any objects.
  func removeAll() {
    for key in lock.withLock({ Array(registered.keys) }) { remove(key) }
  }

  /// Appends to the last report if it is of the same kind. The lock must be held.
  private func note(_ id: NSManagedObjectID, of store: any RegistrationObserver, isRegistered: Bool) {
    // A removed store serves no context.
    guard let coordinator = store.persistentStoreCoordinator else { return }
    if let last = reports.last, last.store === store, last.isRegistered == isRegistered {
      reports[reports.count - 1].ids.append(id)
      return
    }
    reports.append(Report(isRegistered: isRegistered, store: store, ids: [id]))
    // If there were reports before, a scheduled block will process this one too.
    if reports.count == 1 { coordinator.perform { self.notifyStores() } }
  }

  private func notifyStores() {
    let reports = lock.withLock {
      defer { self.reports = [] }
      return self.reports
    }
    // Stores may have been removed meanwhile.
    for report in reports where report.store.persistentStoreCoordinator != nil {
      if report.isRegistered {
        report.store.managedObjectContextDidRegisterObjects(with: report.ids)
      } else {
        report.store.managedObjectContextDidUnregisterObjects(with: report.ids)
      }
    }
  }
}
