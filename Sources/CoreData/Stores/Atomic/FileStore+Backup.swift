// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import CoreDataStoreFiles
import Foundation

extension FileStore {
  /// Copies the file of a store to a free name, such as `Data~.xml` for `Data.xml`, with the permissions of the store.
  ///
  /// - Parameters:
  ///   - url: the location of the store.
  ///   - folder: the directory for the copy, which is created if necessary; nil for the store's directory.
  /// - Returns: the location of the copy.
  /// - Throws: 260 if there is no store; the errors of the file system. No copy is left then.
  static func backUp(_ url: URL, in folder: URL?) throws -> URL {
    try ErrorTranslation.translating(url: url, during: .opening) {
      let location = StoreLocation(url)
      let place = folder ?? location.folder
      try FileCalls.makeDirectories(place)
      let kept = BackupName.free(for: location.file, in: place)
      guard let data = try WholeFile(url).read(limit: largest) else {
        throw StoreFileProblem.missing(path: url.path)
      }
      // Nobody else may read the copy before it has the store's permissions, which writing keeps.
      try FileCalls.write(Data(), to: kept, mode: 0o600)
      do {
        try WholeFile(kept).write(data)
        try FileCalls.copyPermissions(of: location.file, for: kept)
      } catch {
        // The error that is being thrown takes precedence.
        try? FileCalls.removeFile(kept)
        throw error
      }
      return kept
    }
  }
}
