// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A store that is told which of its objects contexts have registered.
protocol RegistrationObserver: NSPersistentStore {
  func managedObjectContextDidRegisterObjects(with objectIDs: [NSManagedObjectID])
  func managedObjectContextDidUnregisterObjects(with objectIDs: [NSManagedObjectID])
}

/// The objects of such stores that a context has registered, and what the stores are still to be told of them.
///
/// Objects are registered and released on any thread, under the lock of their registry. So the stores are told later, on
/// the queue of their coordinator, with exclusive access to the stores, and in order.
final class StoreInterest {
  /// Whether the program has made a store that is told.
  static let isNeeded = Atomic<Bool>(false)

  private struct Report {
    let isRegistered: Bool
    let store: any RegistrationObserver
    var ids: [NSManagedObjectID]
  }

  private let lock = NSLock()
  private var registered: [ObjectKey: NSManagedObjectID] = [:]
  private var reports: [Report] = []

  /// Notes that the context has registered an object.
  func add(_ id: NSManagedObjectID) {
    guard let store = id.persistentStore as? any RegistrationObserver else { return }
    lock.withLock {
      guard registered.updateValue(id, forKey: id.key) == nil else { return }
      note(id, of: store, isRegistered: true)
    }
  }

  /// Notes that the context has no object of a key any more.
  func remove(_ key: ObjectKey) {
    lock.withLock {
      guard let id = registered.removeValue(forKey: key), let store = id.persistentStore as? any RegistrationObserver
      else {
        return
      }
      note(id, of: store, isRegistered: false)
    }
  }

  /// Notes that the context has no objects any more.
  func removeAll() {
    for key in lock.withLock({ Array(registered.keys) }) { remove(key) }
  }

  /// Adds to the last report if it is of the same kind. The lock must be held.
  private func note(_ id: NSManagedObjectID, of store: any RegistrationObserver, isRegistered: Bool) {
    // A store that has been removed serves no context.
    guard let coordinator = store.persistentStoreCoordinator else { return }
    if let last = reports.last, last.store === store, last.isRegistered == isRegistered {
      reports[reports.count - 1].ids.append(id)
      return
    }
    reports.append(Report(isRegistered: isRegistered, store: store, ids: [id]))
    // If there were reports before, they wait for a block that will find this one too.
    if reports.count == 1 { coordinator.perform { self.tellStores() } }
  }

  private func tellStores() {
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
