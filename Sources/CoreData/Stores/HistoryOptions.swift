// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Option: a Bool, by default false; the store records persistent history. SQLite stores only.
public let NSPersistentHistoryTrackingKey = "NSPersistentHistoryTrackingKey"
/// Option: a Bool, by default false; every change of the store posts `NSPersistentStoreRemoteChange`.
///
/// Differs from Apple: changes by other processes post none.
public let NSPersistentStoreRemoteChangeNotificationPostOptionKey =
  "NSPersistentStoreRemoteChangeNotificationOptionKey"
/// Key of `NSPersistentStoreRemoteChange`: the `NSPersistentHistoryToken` after the change, if the store records history.
public let NSPersistentHistoryTokenKey = "historyToken"
/// Key of `NSPersistentStoreRemoteChange`: the URL of the store.
public let NSPersistentStoreURLKey = "storeURL"

extension Notification.Name {
  /// Posted after a store was changed, by any coordinator of this process, with the coordinator of each store that is open
  /// with `NSPersistentStoreRemoteChangeNotificationPostOptionKey` as its object. It is posted on a queue of its own. Its
  /// user info has `NSStoreUUIDKey`, `NSPersistentStoreURLKey` and `NSPersistentHistoryTokenKey`.
  public static let NSPersistentStoreRemoteChange = Notification.Name("NSPersistentStoreRemoteChangeNotification")
}

extension StoreOptions {
  var tracksHistory: Bool { flag(NSPersistentHistoryTrackingKey) }
  var postsRemoteChanges: Bool { flag(NSPersistentStoreRemoteChangeNotificationPostOptionKey) }
}
