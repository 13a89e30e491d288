// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

/// A store that was set aside: it did not fit the model, or was damaged, and a new one took its place. An addition to
/// Apple's interface.
///
/// It lies in a folder of its own, which bears the date, in the folder `Incompatible` beside the store, together with its
/// external data, and under its old name: it can be opened there by any tool. Nothing of it is ever removed unasked.
public struct SetAsideStore: Hashable, Sendable {
  /// Where the store lies now.
  public let url: URL
  /// When it was set aside.
  public let date: Date
  /// The code of the error because of which it was set aside; 0 where there was none.
  public let code: Int
  /// Why it was set aside, in the words of that error.
  public let reason: String

  /// Removes the store, its external data, and its folder where nothing else is in it.
  ///
  /// - Throws: 134070 where a link stands in the way; 512, 513 and their kin when the file system fails.
  public func remove() throws {
    try RecoveryErrors.translating(url: url) {
      let (name, stamp) = (url.lastPathComponent, url.deletingLastPathComponent())
      let outer = try OpenDirectory.open(stamp.deletingLastPathComponent(), followsLinks: false)
      guard let directory = try outer.directoryIfPresent(stamp.lastPathComponent) else { return }
      for file in [name] + StoreLocation.companionSuffixes.map({ name + $0 }) { try directory.removeFile(file) }
      try directory.removeTree(SupportDirectory(store: url).url.lastPathComponent)
      try directory.removeFile(SetAsideNote.name(besideStore: name))
      try outer.removeDirectoryIfEmpty(stamp.lastPathComponent)
      try OpenDirectory.open(outer.url.deletingLastPathComponent()).removeDirectoryIfEmpty(outer.url.lastPathComponent)
    }
  }
}

extension SetAsideNote {
  /// The note of an error because of which a store is set aside.
  init(_ error: NSError?) {
    self.init(
      code: error?.code ?? 0,
      reason: [error?.localizedDescription, error?.localizedFailureReason].compactMap { $0 }.joined(separator: " "))
  }
}
