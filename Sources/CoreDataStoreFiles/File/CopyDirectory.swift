// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Private directories for copies of a store that are thrown away: to be read, or to rehearse a migration on.
package enum CopyDirectory {
  /// Makes a directory beside a store, else in the temporary directory.
  ///
  /// What processes have left that were killed while they had copies of the same store is removed.
  ///
  /// - Parameter holdsRows: false for what is small and tells nothing: it is made in the temporary directory.
  /// - Throws: `FileFailure`.
  package static func make(for store: URL, holdsRows: Bool = true) throws -> PrivateDirectory {
    let file = FileCalls.isSymbolicLink(store) ? store.resolvingSymlinksInPath() : store
    // A name can have 255 bytes, of which the identifier behind this needs 36.
    var name = file.lastPathComponent
    while name.utf8.count > 200 { name.removeLast() }
    let prefix = ".\(name)-copy-"
    return try PrivateDirectory.make(
      prefix: prefix,
      in: (holdsRows ? [file.deletingLastPathComponent()] : []) + [FileManager.default.temporaryDirectory])
  }
}
