// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The user infos that a context has posted under a name.
final class NotificationLog: @unchecked Sendable {
  private let lock = NSLock()
  private var entries: [[AnyHashable: Any]] = []
  private var observer: (any NSObjectProtocol)?

  init(
    _ context: NSManagedObjectContext, _ name: Notification.Name = NSManagedObjectContext.didChangeObjectsNotification
  ) {
    observer = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { [unowned self] in
      let info = $0.userInfo ?? [:]
      lock.withLock { entries.append(info) }
    }
  }

  deinit { if let observer { NotificationCenter.default.removeObserver(observer) } }

  func take() -> [[AnyHashable: Any]] {
    lock.withLock {
      defer { entries = [] }
      return entries
    }
  }

  /// The titles of the objects of the next notifications, by key.
  func titles() -> [[String: [String]]] {
    take().map { info in
      Dictionary(
        uniqueKeysWithValues: info.map { key, value in
          ("\(key)", (value as? Set<NSManagedObject> ?? []).map { $0["title"] as? String ?? "-" }.sorted())
        })
    }
  }
}
