// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The notifications of a name that an object posts while this exists.
final class Notifications: @unchecked Sendable {
  private let lock = NSLock()
  private var received: [Notification] = []
  private var token: (any NSObjectProtocol)?

  /// - Parameters:
  ///   - name: the name of the notifications.
  ///   - object: who posts them; anyone if nil.
  ///   - handler: called with each.
  init(_ name: Notification.Name, of object: Any?, _ handler: @escaping (Notification) -> Void = { _ in }) {
    token = NotificationCenter.default.addObserver(forName: name, object: object, queue: nil) { [weak self] note in
      guard let self else { return }
      lock.lock()
      received.append(note)
      lock.unlock()
      handler(note)
    }
  }

  deinit {
    if let token { NotificationCenter.default.removeObserver(token) }
  }

  var all: [Notification] {
    lock.lock()
    defer { lock.unlock() }
    return received
  }

  var last: Notification? { all.last }

  /// The objects under a key of the last notification.
  func objects(_ key: String) -> Set<NSManagedObject> {
    last?.userInfo?[key] as? Set<NSManagedObject> ?? []
  }
}
