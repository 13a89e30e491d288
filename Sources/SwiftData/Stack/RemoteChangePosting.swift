// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension ModelContainer {
  /// Posted when another process, or another container of this one, has changed a store of a container, which is the
  /// object. The user info has the store's URL and UUID under `NSPersistentStoreURLKey` and `NSStoreUUIDKey`.
  ///
  /// It is posted on a queue of its own. Changes in quick succession may be posted once, and one change more than
  /// once. For a store in a server, saves of the container itself are posted too. The contexts of the container show the
  /// changes without it.
  public static let remoteChange = Notification.Name("ModelContainerRemoteChange")
}

/// Posts `ModelContainer.remoteChange` for a container.
final class RemoteChangePosting: Sendable {
  private nonisolated(unsafe) let token: any NSObjectProtocol

  init(_ container: ModelContainer) {
    token = NotificationCenter.default.addObserver(
      forName: .NSPersistentStoreRemoteChange, object: container.coordinator, queue: nil
    ) { [weak container] note in
      guard let container, let info = note.userInfo, info[RemoteChanges.isByOthersKey] as? Bool == true else { return }
      NotificationCenter.default.post(
        name: ModelContainer.remoteChange, object: container,
        userInfo: info.filter { [NSPersistentStoreURLKey, NSStoreUUIDKey].contains($0.key as? String) })
    }
  }

  deinit { NotificationCenter.default.removeObserver(token) }
}
