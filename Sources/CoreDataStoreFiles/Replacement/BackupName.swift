// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// What the files of a backup are called: the files of `Data.sqlite` and of `Data.store` never share a number, since both
/// would have `.Data~_SUPPORT` for their values.
package struct BackupName {
  /// `Data~2`.
  package let base: String
  /// `.sqlite`, or nothing.
  package let suffix: String

  /// `Data~.sqlite` for `Data.sqlite`, or with a number where something has that name.
  package static func free(for url: URL, in folder: URL) -> URL {
    var number = 1
    while true {
      let name = BackupName(of: url, number: number)
      // A number that somebody makes a backup for at this moment is theirs.
      if name.isFree(in: folder), !FileCalls.exists(BackupDirectory.url(name.base, in: folder)) {
        return name.database(in: folder)
      }
      number += 1
    }
  }

  package init(of store: URL, number: Int) {
    base = Self.prefix(of: store) + (number == 1 ? "" : String(number))
    suffix = store.pathExtension.isEmpty ? "" : ".\(store.pathExtension)"
  }

  /// `Data~`, which the names of all backups of a store begin with.
  package static func prefix(of store: URL) -> String { "\(store.deletingPathExtension().lastPathComponent)~" }

  package func database(in folder: URL) -> URL { folder.appendingPathComponent(base + suffix) }

  /// Whether a replaced store can be kept under a name: nothing has it, or that store itself, or its values have.
  ///
  /// An attempt that was interrupted may have linked the values already. Those of anything else are not mixed with them.
  package static func canKeep(_ old: URL, at target: URL, values: [String], in directory: URL) -> Bool {
    if let found = FileCalls.identity(target) { return found == FileCalls.identity(old) }
    guard FileCalls.exists(StoreFiles.externalData(of: target)) else { return true }
    let present = StoreLocation.externalData(of: target)
    // Where the directory cannot be listed, it is somebody else's.
    guard let names = try? FileCalls.names(in: present) else { return false }
    return names.allSatisfy { name in
      values.contains(name)
        && FileCalls.identity(present.appendingPathComponent(name))
          == FileCalls.identity(directory.appendingPathComponent(name))
    }
  }

  /// Whether nothing has a name that would belong to this backup, symbolic links that lead nowhere included.
  package func isFree(in folder: URL) -> Bool {
    // Where the directory cannot be listed, making the backup fails with the reason.
    let names = (try? FileCalls.names(in: folder)) ?? []
    return !names.contains { name in
      name == base || name.hasPrefix(base + ".") || name == ".\(base)_SUPPORT"
        || StoreFiles.companionSuffixes.contains { name == base + $0 }
    }
  }
}
