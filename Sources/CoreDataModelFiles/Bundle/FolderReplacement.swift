// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes a whole folder or nothing: what stood there before stays until the new one is complete.
enum FolderReplacement {
  /// Fills a new folder beside the place, then puts it there.
  ///
  /// A failure while the folder is filled leaves the old one untouched and no trace of the new.
  static func write(to url: URL, _ fill: (URL) throws -> Void) throws {
    let files = FileManager.default
    let parent = url.deletingLastPathComponent()
    let token = UUID().uuidString
    let fresh = parent.appendingPathComponent(".\(url.lastPathComponent).\(token).new", isDirectory: true)
    try files.createDirectory(at: fresh, withIntermediateDirectories: true)
    do {
      try fill(fresh)
      guard files.fileExists(atPath: url.path) else { return try files.moveItem(at: fresh, to: url) }
      let old = parent.appendingPathComponent(".\(url.lastPathComponent).\(token).old", isDirectory: true)
      try files.moveItem(at: url, to: old)
      do {
        try files.moveItem(at: fresh, to: url)
      } catch {
        try files.moveItem(at: old, to: url)
        throw error
      }
      try files.removeItem(at: old)
    } catch {
      // The first failure is the one that tells what is wrong.
      try? files.removeItem(at: fresh)
      throw error
    }
  }
}
