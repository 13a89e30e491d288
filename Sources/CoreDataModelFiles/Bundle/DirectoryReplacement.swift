// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Writes a directory atomically: an existing one stays until the new one is complete.
enum DirectoryReplacement {
  /// Fills a new directory beside the destination, then moves it into place.
  ///
  /// If an error occurs, the old directory is untouched and the new one is removed.
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
      // Report the first error, not that the new directory could not be removed.
      try? files.removeItem(at: fresh)
      throw error
    }
  }
}
