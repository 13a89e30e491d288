// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The versions of a bundle, each of which is read when it is first asked for, and once.
final class VersionFiles: @unchecked Sendable {
  /// The names of all versions in their order, of those too that cannot be read.
  let names: [String]
  private let read: @Sendable (Int) -> VersionReading
  private let lock = NSLock()
  private var readings: [VersionReading?]
  private var hashes: [VersionHashes?]

  /// - Parameter read: reads a version by its position; called on several threads at once.
  init(_ names: [String], read: @escaping @Sendable (Int) -> VersionReading) {
    self.names = names
    self.read = read
    readings = Array(repeating: nil, count: names.count)
    hashes = Array(repeating: nil, count: names.count)
  }

  /// The same versions in another order.
  private init(_ other: VersionFiles, order: [Int]) {
    names = order.map { other.names[$0] }
    let read = other.read
    self.read = { read(order[$0]) }
    readings = order.map { other.readings[$0] }
    hashes = order.map { other.hashes[$0] }
  }

  /// The versions at some positions, read on all processors where they have not been read yet.
  @discardableResult
  func readings(at positions: [Int]) -> [VersionReading] {
    let missing = lock.withLock { positions.filter { readings[$0] == nil } }
    let found = missing.concurrentMap { position in (position, read(position)) }
    return lock.withLock {
      // What another thread has read in between stays.
      for (position, reading) in found where readings[position] == nil { readings[position] = reading }
      return positions.compactMap { readings[$0] }
    }
  }

  /// The hashes of the versions at some positions, worked out on all processors; nil for versions that cannot be read.
  @discardableResult
  func hashes(at positions: [Int]) -> [VersionHashes?] {
    let missing = lock.withLock { positions.filter { hashes[$0] == nil } }
    let found = missing.concurrentMap { position in
      (position, readings(at: [position])[0].document.map { VersionHashes($0) })
    }
    return lock.withLock {
      for (position, hashes) in found { self.hashes[position] = hashes }
      return positions.map { hashes[$0] }
    }
  }

  /// All versions.
  var all: [VersionReading] { readings(at: Array(names.indices)) }

  /// The versions that have been read so far.
  var soFar: [VersionReading] { lock.withLock { readings.compactMap { $0 } } }

  /// The versions in the order of `VersionChain`, those that cannot be read first.
  func chained(current: String?) -> VersionFiles {
    let found = hashes(at: Array(names.indices))
    let versions = zip(all, found).enumerated().compactMap { position, version -> (Int, VersionChain.Version)? in
      guard let document = version.0.document, let hashes = version.1 else { return nil }
      return (position, (version.0.name, document, hashes))
    }
    let order = VersionChain.order(versions.map(\.1), current: current).map { versions[$0].0 }
    return VersionFiles(self, order: names.indices.filter { !order.contains($0) } + order)
  }
}

/// A version of a bundle, or why it cannot be read.
struct VersionReading: Sendable {
  let name: String
  let document: ModelDocument?
  let error: ModelFileError?
  let warnings: [ModelFileError]

  /// Reads a version.
  ///
  /// What the version means is checked where there are others, which it must not get in the way of.
  init(_ name: String, at place: URL, isOnly: Bool, _ body: (ModelWarnings) throws -> ModelDocument) {
    self.name = name
    let noted = ModelWarnings()
    do {
      let document = try body(noted)
      if !isOnly { try document.validate() }
      (self.document, error) = (document, nil)
    } catch let error as ModelFileError {
      (document, self.error) = (nil, error.inFile(place))
    } catch {
      let reason = "The file cannot be read: \(error)."
      document = nil
      self.error = ModelFileError(
        .unreadableFile, found: reason, advice: "Check the path and its permissions.", file: place)
    }
    warnings = noted.list
  }

  /// A version that has been read.
  init(_ name: String, _ document: ModelDocument, warnings: [ModelFileError] = []) {
    self.name = name
    self.document = document
    error = nil
    self.warnings = warnings
  }
}
