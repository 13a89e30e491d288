// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The files of an input.
struct FuzzInput {
  /// The contents by path relative to the input's directory.
  var files: [String: Data] = [:]
  /// The targets of symbolic links, by the paths of the links.
  var links: [String: String] = [:]
  /// How the input was created, for the report.
  var notes: [String] = []
  /// Whether the input contains nothing from other people's files, so that it can be kept in the repository.
  var isOurs = true
  /// The sample that the input was created from.
  var sample = 0

  /// The size of all files in bytes.
  var size: Int { files.values.reduce(0) { $0 + $1.count } }

  /// Writes the files to a directory.
  func write(to directory: URL) throws {
    for (path, data) in files.sorted(by: { $0.key < $1.key }) {
      let url = directory.appendingPathComponent(path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try data.write(to: url)
    }
    for (path, target) in links.sorted(by: { $0.key < $1.key }) {
      let url = directory.appendingPathComponent(path)
      try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
      try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: target)
    }
  }

  /// Reads the files written by `write`.
  init(contentsOf directory: URL) throws {
    for path in try FileManager.default.subpathsOfDirectory(atPath: directory.path) {
      let url = directory.appendingPathComponent(path)
      let values = try url.resourceValues(forKeys: [.isRegularFileKey, .isSymbolicLinkKey])
      if values.isSymbolicLink == true {
        links[path] = try FileManager.default.destinationOfSymbolicLink(atPath: url.path)
      } else if values.isRegularFile == true {
        files[path] = try Data(contentsOf: url)
      }
    }
  }

  init(files: [String: Data], notes: [String] = [], isOurs: Bool = true, sample: Int = 0) {
    self.files = files
    self.notes = notes
    self.isOurs = isOurs
    self.sample = sample
  }
}

/// The directory of a worker.
final class FuzzLab {
  let directory: URL
  /// The models and stores in the repository that inputs are created from.
  let corpus: URL
  /// The fixtures outside the repository; nil if they are not used.
  let fixtures: URL?
  private var count = 0

  init(directory: URL, corpus: URL, fixtures: URL?) throws {
    self.directory = directory
    self.corpus = corpus
    self.fixtures = fixtures
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  }

  /// Returns an empty directory, after removing the previous one.
  func fresh() throws -> URL {
    let old = directory.appendingPathComponent("in\(count)")
    if FileManager.default.fileExists(atPath: old.path) { try FileManager.default.removeItem(at: old) }
    count += 1
    let new = directory.appendingPathComponent("in\(count)")
    try FileManager.default.createDirectory(at: new, withIntermediateDirectories: true)
    return new
  }

  /// Returns an empty directory for copies of an input's files, which leaves the directory of `fresh` as it is.
  func copies() throws -> URL {
    let place = directory.appendingPathComponent("copies")
    if FileManager.default.fileExists(atPath: place.path) { try FileManager.default.removeItem(at: place) }
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    return place
  }

  /// Returns the inputs of a kind in the repository. Each directory is an input.
  func kept(_ kind: FuzzKind) throws -> [FuzzInput] {
    let folder = corpus.appendingPathComponent(kind.rawValue)
    guard FileManager.default.fileExists(atPath: folder.path) else { return [] }
    return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
      .filter { !$0.hasPrefix(".") }
      .map { try FuzzInput(contentsOf: folder.appendingPathComponent($0)) }
  }

  /// Returns the fixtures with a matching path and up to a given size, sorted.
  func fixtures(upTo limit: Int = 1 << 20, _ isWanted: (String) -> Bool) throws -> [(path: String, data: Data)] {
    guard let fixtures else { return [] }
    var found: [(path: String, data: Data)] = []
    for path in try FileManager.default.subpathsOfDirectory(atPath: fixtures.path).sorted() where isWanted(path) {
      let url = fixtures.appendingPathComponent(path)
      let values = try url.resourceValues(forKeys: [.isRegularFileKey, .fileSizeKey])
      guard values.isRegularFile == true, let size = values.fileSize, size > 0, size <= limit else { continue }
      found.append((path, try Data(contentsOf: url)))
    }
    return found
  }
}
