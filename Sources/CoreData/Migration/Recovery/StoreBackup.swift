// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import Foundation

/// Copies of stores, made before something is done to them. An addition to Apple's interface.
public enum StoreBackup {
  /// Makes a copy of a store beside it, or in another folder: `Data.sqlite` becomes `Data~.sqlite`, as Core Data names the
  /// store that a migration has replaced; `Data~2.sqlite` and so on where there are older copies, which stay.
  ///
  /// The copy is whole as it is: what the store's write-ahead log holds is in it. It is complete on disk before this returns.
  ///
  /// - Parameters:
  ///   - url: where the store is.
  ///   - folder: where to put the copy; nil for beside the store.
  /// - Returns: where the copy is.
  /// - Throws: 640 when the disk is full; the errors of reading the store and writing the copy. No copy is left then.
  public static func make(of url: URL, in folder: URL? = nil) throws -> URL {
    let place = folder ?? url.deletingLastPathComponent()
    let destination = freeName(for: url, in: place)
    try SQLiteStoreErrors.translating(url: url, isOpening: false) {
      try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
      try StoreFiles.copy(from: url, to: destination)
      try FileHandle.synchronize(destination)
    }
    return destination
  }

  /// `Data~.sqlite` for `Data.sqlite`, or with a number where that name is taken.
  static func freeName(for url: URL, in folder: URL) -> URL {
    let name = url.deletingPathExtension().lastPathComponent
    let suffix = url.pathExtension.isEmpty ? "" : ".\(url.pathExtension)"
    func candidate(_ number: Int) -> URL {
      folder.appendingPathComponent("\(name)~\(number == 1 ? "" : String(number))\(suffix)")
    }
    var number = 1
    while FileManager.default.fileExists(atPath: candidate(number).path) { number += 1 }
    return candidate(number)
  }
}

extension FileHandle {
  /// Sees to it that a file is on the disk, and not only on its way there.
  fileprivate static func synchronize(_ url: URL) throws {
    let handle = try FileHandle(forUpdating: url)
    try handle.synchronize()
    try handle.close()
  }
}
