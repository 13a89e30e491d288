// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Observers with a method in place of a selector, for translated sources.
extension NotificationCenter {
  /// Calls a method of an observer for each notification, until the observer is deallocated or removed.
  ///
  /// - Parameters:
  ///   - observer: the object whose method is called. It is not retained.
  ///   - method: the method, such as `Screen.didSave(_:)`.
  ///   - name: the name of the notifications; nil for all.
  ///   - object: the object that posts them; nil for all.
  public func addObserver<Observer: AnyObject>(
    _ observer: Observer, selector method: @escaping (Observer) -> (Notification) -> Void,
    name: NSNotification.Name?, object: Any?
  ) {
    MethodObservers.shared.add(observer, to: self, name, object) { observer, notification in
      (observer as? Observer).map { method($0)(notification) }
    }
  }

  /// Calls a method with an `NSNotification`; otherwise like `addObserver(_:selector:name:object:)` with a
  /// `Notification`.
  public func addObserver<Observer: AnyObject>(
    _ observer: Observer, selector method: @escaping (Observer) -> (NSNotification) -> Void,
    name: NSNotification.Name?, object: Any?
  ) {
    MethodObservers.shared.add(observer, to: self, name, object) { observer, notification in
      (observer as? Observer).map { method($0)(notification as NSNotification) }
    }
  }

  /// Calls a method without parameters; otherwise like `addObserver(_:selector:name:object:)` with a `Notification`.
  public func addObserver<Observer: AnyObject>(
    _ observer: Observer, selector method: @escaping (Observer) -> () -> Void,
    name: NSNotification.Name?, object: Any?
  ) {
    MethodObservers.shared.add(observer, to: self, name, object) { observer, _ in
      (observer as? Observer).map { method($0)() }
    }
  }

  /// Removes an observer that was added with a method, or that was returned by
  /// `addObserver(forName:object:queue:using:)`.
  public func removeObserver(_ observer: AnyObject) {
    MethodObservers.shared.remove(observer, from: self, name: nil, object: nil)
    removeObserver(observer as Any)
  }

  /// Removes an observer for the given notification name and object.
  public func removeObserver(_ observer: AnyObject, name: NSNotification.Name?, object: Any?) {
    MethodObservers.shared.remove(observer, from: self, name: name, object: object)
    removeObserver(observer as Any, name: name, object: object)
  }
}

/// The observers that were added with a method, and the blocks that represent them in their notification centers.
private final class MethodObservers: @unchecked Sendable {
  static let shared = MethodObservers()

  private struct Entry {
    weak var observer: AnyObject?
    weak var center: NotificationCenter?
    let name: NSNotification.Name?
    weak var object: AnyObject?
    let block: any NSObjectProtocol
  }

  private let lock = NSLock()
  /// The entries by the addresses of their observers. Guarded by `lock`.
  private var entries: [ObjectIdentifier: [Entry]] = [:]
  /// The number of entries at which those of deallocated observers are removed. Guarded by `lock`.
  private var limit = 64

  private struct Call: @unchecked Sendable {
    weak var observer: AnyObject?
    let body: (AnyObject, Notification) -> Void?
  }

  func add(
    _ observer: AnyObject, to center: NotificationCenter, _ name: NSNotification.Name?, _ object: Any?,
    _ body: @escaping (AnyObject, Notification) -> Void?
  ) {
    let call = Call(observer: observer, body: body)
    let block = center.addObserver(forName: name, object: object, queue: nil) { notification in
      guard let observer = call.observer else { return }
      _ = call.body(observer, notification)
    }
    let poster = object.map { $0 as AnyObject }
    let entry = Entry(
      observer: observer, center: center, name: name, object: poster, block: block)
    let gone = lock.withLock {
      entries[ObjectIdentifier(observer), default: []].append(entry)
      return entries.count > limit ? removeDeallocated() : []
    }
    for entry in gone { entry.center?.removeObserver(entry.block as Any) }
  }

  /// Removes and returns the entries of deallocated observers. Called with the lock held.
  private func removeDeallocated() -> [Entry] {
    var gone: [Entry] = []
    for (key, list) in entries {
      let left = list.filter { $0.observer != nil && $0.center != nil }
      guard left.count < list.count else { continue }
      gone += list.filter { $0.observer == nil || $0.center == nil }
      entries[key] = left.isEmpty ? nil : left
    }
    limit = max(64, 2 * entries.count)
    return gone
  }

  /// Removes an observer, which may be being deallocated, so that weak references to it are already nil.
  func remove(_ observer: AnyObject, from center: NotificationCenter, name: NSNotification.Name?, object: Any?) {
    let poster = object.map { $0 as AnyObject }
    let key = ObjectIdentifier(observer)
    let removed = lock.withLock { () -> [Entry] in
      guard let list = entries[key] else { return [] }
      func matches(_ entry: Entry) -> Bool {
        guard entry.observer != nil else { return true }
        return entry.center === center && (name == nil || entry.name == name)
          && (poster == nil || entry.object === poster)
      }
      let left = list.filter { !matches($0) }
      entries[key] = left.isEmpty ? nil : left
      return list.filter(matches)
    }
    for entry in removed { entry.center?.removeObserver(entry.block as Any) }
  }
}
