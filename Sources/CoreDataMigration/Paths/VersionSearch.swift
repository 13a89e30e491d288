// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The search for the version with the hashes of a store; it reads as few versions as possible.
///
/// A compiled bundle records the hashes of its versions, so those that seem to fit are read first. In other bundles the
/// current version and its neighbours come first, then versions far apart, and then those between the two that have the most
/// entities in common with the store. The order determines only how many versions are read: a fitting version is always found.
package struct VersionSearch {
  package let shelf: VersionShelf
  /// The position of the current version.
  package let current: Int?
  package let stored: [String: Data]
  package let fits: (ModelVersion) -> Bool

  package init(
    shelf: VersionShelf, current: Int?, stored: [String: Data], fits: @escaping (ModelVersion) -> Bool
  ) {
    self.shelf = shelf
    self.current = current
    self.stored = stored
    self.fits = fits
  }

  /// Bundles with at most this many versions are read completely.
  private static let few = 8

  /// Returns the positions of the fitting versions, in order.
  ///
  /// Versions with equal hashes may be missing where they are not neighbours.
  package func run() -> [Int] {
    let all = Array(shelf.names.indices)
    guard all.count > Self.few else { return fitting(all) }
    let noted = all.filter { position in
      shelf.recordedHashes[position].map { hashes in stored.allSatisfy { hashes[$0.key] == $0.value } } ?? true
    }
    guard noted.count == all.count else {
      let found = fitting(noted)
      return found.isEmpty ? fitting(all) : found
    }
    return probed(all)
  }

  private func fitting(_ positions: [Int]) -> [Int] {
    // Reading them together uses all processors.
    _ = shelf.versions(at: positions)
    return positions.filter { shelf.version(at: $0).map(fits) == true }
  }

  private func probed(_ all: [Int]) -> [Int] {
    var likeness: [Int: Int] = [:]
    func look(_ positions: [Int]) -> [Int] {
      let found = fitting(positions)
      for position in positions {
        let hashes = shelf.version(at: position)?.hashes ?? [:]
        likeness[position] = stored.count { hashes[$0.key] == $0.value }
      }
      return found
    }
    let middle = current ?? all.count - 1
    var found = look(all.filter { abs($0 - middle) <= 1 })
    if found.isEmpty {
      found = look((0..<Self.few).map { $0 * (all.count - 1) / (Self.few - 1) }.filter { likeness[$0] == nil })
    }
    while found.isEmpty, let gap = bestGap(likeness) {
      let third = (gap.upperBound - gap.lowerBound) / 3
      found = look(Array(Set([gap.lowerBound + third, gap.upperBound - third])).sorted())
    }
    guard let first = found.first, let last = found.last else { return [] }
    func run(from position: Int, by step: Int) -> [Int] {
      var run: [Int] = []
      var next = position + step
      while all.indices.contains(next), !fitting([next]).isEmpty {
        run.append(next)
        next += step
      }
      return run
    }
    return Set(found + run(from: first, by: -1) + run(from: last, by: 1)).sorted()
  }

  /// Returns the range of unread versions between the two read versions that are most similar to the store.
  private func bestGap(_ likeness: [Int: Int]) -> ClosedRange<Int>? {
    let read = likeness.keys.sorted()
    let gaps = zip(read, read.dropFirst()).filter { $0.1 - $0.0 > 1 }
    let best = gaps.max { left, right in
      let (a, b) = (
        (likeness[left.0] ?? 0) + (likeness[left.1] ?? 0), (likeness[right.0] ?? 0) + (likeness[right.1] ?? 0)
      )
      return (a, left.0) < (b, right.0)
    }
    return best.map { ($0.0 + 1)...($0.1 - 1) }
  }
}

/// The versions of `ModelVersions`, each made when it is first needed.
package final class VersionShelf {
  /// The names of all versions in order, including versions that cannot be read.
  package let names: [String]
  /// The hashes that a compiled bundle records for its versions; nil for a version without a record.
  package let recordedHashes: [[String: Data]?]
  private let bundle: ModelBundle?
  private var made: [Int: ModelVersion?]

  package init(_ bundle: ModelBundle) {
    self.bundle = bundle
    names = bundle.names
    recordedHashes = names.map { bundle.recordedHashes[$0] }
    made = [:]
  }

  package init(_ versions: [ModelVersion]) {
    bundle = nil
    names = versions.map(\.name)
    recordedHashes = versions.map { _ in nil }
    made = Dictionary(uniqueKeysWithValues: versions.enumerated().map { ($0.offset, $0.element) })
  }

  /// Returns the readable versions at some positions.
  package func versions(at positions: [Int]) -> [ModelVersion] {
    let missing = positions.filter { made[$0] == nil }
    if let bundle, !missing.isEmpty {
      for (position, content) in zip(missing, bundle.versions(at: missing)) {
        made[position] = .some(
          content.map {
            ModelVersion(name: names[position], document: $0.document, versionHashes: $0.hashes, url: bundle.url)
          })
      }
    }
    return positions.compactMap { made[$0] ?? nil }
  }

  /// Returns the version at a position; nil where it cannot be read.
  package func version(at position: Int) -> ModelVersion? { versions(at: [position]).first }
}
