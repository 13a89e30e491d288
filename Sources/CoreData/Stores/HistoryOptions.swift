// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Option: a Bool, by default false; the store records persistent history. SQLite stores only.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Option: a Bool, by default false; changes of the store, by this process or by others, post
/// `NSPersistentStoreRemoteChange`.
///
/// Differs from Apple: changes by other processes are detected only on Linux, and only if they are made on the same
/// machine.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// Key of `NSPersistentStoreRemoteChange`: the `NSPersistentHistoryToken` after the change, if the store records history.
public let NSPersistentHistoryTokenKey = "historyToken"
/// Key of `NSPersistentStoreRemoteChange`: the URL of the store.
public let NSPersistentStoreURLKey = "storeURL"

extension Notification.Name {
  /// Posted after any coordinator of this process, or another process, has changed a store. Its object is the
  /// coordinator of a store that is open with `NSPersistentStoreRemoteChangeNotificationPostOptionKey`; there is one
  /// notification for each such store. It is posted on a queue of its own. Changes by other processes in quick
  /// succession are posted once. The user info has `NSStoreUUIDKey`, `NSPersistentStoreURLKey` and
  /// `NSPersistentHistoryTokenKey`.
  public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
}

extension StoreOptions {
  package var tracksHistory: Bool { flag(NSPersistentHistoryTrackingKey) }
  package var postsRemoteChanges: Bool { flag(NSPersistentStoreRemoteChangeNotificationPostOptionKey) }
}
