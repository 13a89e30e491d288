// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Looks for the version that has the hashes of a store, and reads as few versions as it can.
///
/// A compiled bundle notes the hashes of its versions: those that seem to fit are read first. Of others the current version and
/// its neighbours come first, then versions far apart, and then those between the two that have the most entities in common
/// with the store. The order of looking decides how much is read, and not what is found: a version that fits is found wherever
/// it is.
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

  /// Bundles of no more versions are read as a whole.
  private static let few = 8

  /// The positions of the versions that fit, in order.
  ///
  /// Of versions with equal hashes those may be left out that do not stand beside the others.
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
    // All at once, so that they are read on all processors.
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

  /// Of the stretches of versions that have not been read the one between the two versions that are most like the store.
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
