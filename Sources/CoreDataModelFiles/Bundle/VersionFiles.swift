// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// The versions of a bundle, each of which is read once, on first use.
final class VersionFiles: @unchecked Sendable {
  /// The names of all versions in order, including unreadable ones.
  let names: [String]
  private let read: @Sendable (Int) -> VersionReading
  private let lock = NSLock()
  /// Guarded by `lock`, like the hashes.
  private var readings: [VersionReading?]
  private var hashes: [VersionHashes?]

  /// - Parameter read: Reads the version at a position. Called concurrently.
  init(_ names: [String], read: @escaping @Sendable (Int) -> VersionReading) {
    self.names = names
    self.read = read
    readings = Array(repeating: nil, count: names.count)
    hashes = Array(repeating: nil, count: names.count)
  }

  /// Creates a copy in another order.
  private init(_ other: VersionFiles, order: [Int]) {
    names = order.map { other.names[$0] }
    let read = other.read
    self.read = { read(order[$0]) }
    let known = other.lock.withLock { (other.readings, other.hashes) }
    readings = order.map { known.0[$0] }
    hashes = order.map { known.1[$0] }
  }

  /// Returns the versions at some positions, reading missing ones concurrently.
  @discardableResult
  func readings(at positions: [Int]) -> [VersionReading] {
    let missing = lock.withLock { positions.filter { readings[$0] == nil } }
    let found = missing.concurrentMap { position in (position, read(position)) }
    return lock.withLock {
      // Another thread may have read some of them meanwhile; its results are kept.
      for (position, reading) in found where readings[position] == nil { readings[position] = reading }
      return positions.compactMap { readings[$0] }
    }
  }

  /// Returns the hashes of the versions at some positions, computing missing ones concurrently; nil for unreadable
  /// versions.
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

  var all: [VersionReading] { readings(at: Array(names.indices)) }

  /// The versions read so far.
  var soFar: [VersionReading] { lock.withLock { readings.compactMap { $0 } } }

  /// Returns the versions in the order of `VersionChain`, unreadable ones first.
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

/// A version of a bundle, or the error of reading it.
struct VersionReading: Sendable {
  let name: String
  let document: ModelDocument?
  let error: ModelFileError?
  let warnings: [ModelFileError]

  /// Reads a version.
  ///
  /// A version is also validated if there are others, so that an invalid one does not prevent their use.
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

  /// Wraps a version that has been read.
  init(_ name: String, _ document: ModelDocument, warnings: [ModelFileError] = []) {
    self.name = name
    self.document = document
    error = nil
    self.warnings = warnings
  }
}

extension Array where Element: Sendable {
  /// Returns the results of a function for all elements, computed concurrently.
  ///
  /// - Throws: The error of the first element whose call throws.
  package func concurrentMap<Value: Sendable, Failure: Error>(
    _ transform: @Sendable (Element) throws(Failure) -> Value
  ) throws(Failure) -> [Value] {
    var results = [Result<Value, Failure>?](repeating: nil, count: count)
    results.withUnsafeMutableBufferPointer { buffer in
      nonisolated(unsafe) let buffer = buffer
      DispatchQueue.concurrentPerform(iterations: count) { position in
        do throws(Failure) {
          buffer[position] = .success(try transform(self[position]))
        } catch {
          buffer[position] = .failure(error)
        }
      }
    }
    var values: [Value] = []
    for case let result? in results { values.append(try result.get()) }
    return values
  }
}

/// The order of version names, as a person would sort them: numbers are compared as numbers, and case and punctuation
/// are ignored, so that `V2` comes before `V 10`.
enum VersionNames {
  private enum Part: Comparable {
    case number(digits: Int, String)
    case word(String)

    var word: String? {
      if case .word(let word) = self { return word }
      return nil
    }
  }

  static func precede(_ left: String, _ right: String) -> Bool {
    let (a, b) = (parts(left), parts(right))
    return a == b ? left < right : a.lexicographicallyPrecedes(b)
  }

  /// Returns the names in each numbered series, as positions. `Model`, `Model 2` and `Model 10` form a series; `Final`
  /// belongs to none. A name without a number begins the series with the same words.
  static func series(_ names: [String]) -> [[Int]] {
    let all = names.map(parts)
    var members: [[String]: [Int]] = [:]
    var plain: [(position: Int, words: [String])] = []
    for (position, parts) in all.enumerated() {
      let words = parts.prefix { $0.word != nil }.compactMap(\.word)
      if words.count < parts.count {
        members[words, default: []].append(position)
      } else {
        plain.append((position, words))
      }
    }
    for (position, words) in plain where !words.isEmpty {
      let fitting = members.keys.filter { $0.joined().hasPrefix(words.joined()) }
      let shortest = fitting.min { ($0.count, $0.joined(separator: " ")) < ($1.count, $1.joined(separator: " ")) }
      guard let series = shortest else { continue }
      members[series]?.append(position)
    }
    return members.values.filter { $0.count > 1 }.map { $0.sorted { precede(names[$0], names[$1]) } }
      .sorted { $0[0] < $1[0] }
  }

  /// Whether all names form one series, which determines their order.
  static func suffice(_ names: [String]) -> Bool { names.count < 2 || series(names).first?.count == names.count }

  private static func parts(_ name: String) -> [Part] {
    var parts: [Part] = []
    var run = ""
    func end() {
      guard let first = run.first else { return }
      if first.isNumber {
        let significant = String(run.drop { $0 == "0" })
        parts.append(.number(digits: significant.count, significant))
      } else {
        parts.append(.word(run))
      }
      run = ""
    }
    for character in name.lowercased() {
      let isDigit = character.isASCII && character.isNumber
      guard isDigit || character.isLetter else {
        end()
        continue
      }
      if let last = run.last, (last.isASCII && last.isNumber) != isDigit { end() }
      run.append(character)
    }
    end()
    return parts
  }
}
