// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A file with the names and sizes of a controller's sections, so that a fetch need not ask every object for its
/// section.
///
/// It is verified with the objects: the first and the last object of each section must have the section's name. The
/// objects are sorted by sections, so all objects in between have it too. An unreadable or unwritable cache is ignored.
struct FetchedSectionCache {
  private struct File: Codable {
    var keyPath: String
    var names: [String]
    var counts: [Int]
  }

  private let url: URL

  /// The directory of this program's caches.
  private static var directory: URL {
    FileManager.default.urls(for: .cachesDirectory, in: .userDomainMask)
      .first.map { $0.appendingPathComponent(".CoreDataCaches/SectionInfoCaches") }?
      .appendingPathComponent(fileName(ProcessInfo.processInfo.processName))
      ?? FileManager.default.temporaryDirectory.appendingPathComponent("CoreDataSectionInfoCaches")
  }

  init(named name: String) {
    url = FetchedSectionCache.directory.appendingPathComponent(FetchedSectionCache.fileName(name))
  }

  private static func fileName(_ name: String) -> String {
    String((name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "").prefix(200)) + ".sections"
  }

  /// Returns the sections of objects if the cache contains them.
  ///
  /// - Parameters:
  ///   - objects: the objects in order.
  ///   - keyPath: the key path that divides them.
  ///   - name: returns the name of an object's section.
  func sections(
    of objects: [NSObject], by keyPath: String, name: (NSObject) throws -> String
  ) throws -> [(name: String, count: Int)]? {
    // An unreadable cache is ignored.
    guard let data = try? Data(contentsOf: url), let file = try? JSONDecoder().decode(File.self, from: data),
      file.keyPath == keyPath, file.names.count == file.counts.count, Set(file.names).count == file.names.count
    else { return nil }
    var start = 0
    for (expected, count) in zip(file.names, file.counts) {
      guard count > 0, count <= objects.count - start, try name(objects[start]) == expected,
        try name(objects[start + count - 1]) == expected
      else { return nil }
      start += count
    }
    return start == objects.count ? Array(zip(file.names, file.counts)) : nil
  }

  /// Replaces the file.
  func write(_ sections: [FetchedSection], by keyPath: String) {
    let file = File(keyPath: keyPath, names: sections.map(\.name), counts: sections.map(\.objects.count))
    // If the file cannot be written, the next fetch works without it.
    guard let data = try? JSONEncoder().encode(file) else { return }
    try? FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try? data.write(to: url, options: .atomic)
  }

  /// Removes the cache with a name, or all caches of this program.
  static func delete(named name: String?) {
    // The file may not exist.
    try? FileManager.default.removeItem(at: name.map { FetchedSectionCache(named: $0).url } ?? directory)
  }
}
