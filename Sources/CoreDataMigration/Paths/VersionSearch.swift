// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The search for the version with the hashes of a store, reading as few versions as possible.
///
/// A compiled bundle records the hashes of its versions, so those that seem to fit are read first. In other bundles,
/// the current version and its neighbors are read first, then versions far apart, then the versions between the two
/// that have the most entities in common with the store. The order only affects how many versions are read: a fitting
/// version is always found.
package struct VersionSearch {
  package let cache: VersionCache
  /// The position of the current version.
  package let current: Int?
  package let stored: [String: Data]
  package let fits: (ModelVersion) -> Bool

  package init(cache: VersionCache, current: Int?, stored: [String: Data], fits: @escaping (ModelVersion) -> Bool) {
    self.cache = cache
    self.current = current
    self.stored = stored
    self.fits = fits
  }

  /// The number of versions up to which a bundle is read completely.
  private static let few = 8

  /// Returns the positions of the fitting versions, in order.
  ///
  /// Of versions with equal hashes, some may be missing if they are not neighbors.
  package func run() -> [Int] {
    let all = Array(cache.names.indices)
    guard all.count > Self.few else { return fitting(all) }
    let noted = all.filter { position in
      cache.recordedHashes[position].map { hashes in stored.allSatisfy { hashes[$0.key] == $0.value } } ?? true
    }
    guard noted.count == all.count else {
      let found = fitting(noted)
      return found.isEmpty ? fitting(all) : found
    }
    return probed(all)
  }

  private func fitting(_ positions: [Int]) -> [Int] {
    // Reading the versions together uses all processors.
    _ = cache.versions(at: positions)
    return positions.filter { cache.version(at: $0).map(fits) == true }
  }

  private func probed(_ all: [Int]) -> [Int] {
    var likeness: [Int: Int] = [:]
    func look(_ positions: [Int]) -> [Int] {
      let found = fitting(positions)
      for position in positions {
        let hashes = cache.version(at: position)?.hashes ?? [:]
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

/// The versions of `ModelVersions`, each created when it is first needed.
package final class VersionCache {
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

  /// Returns the version at a position, or nil if it cannot be read.
  package func version(at position: Int) -> ModelVersion? { versions(at: [position]).first }

  /// Returns the first unreadable version between two others with its error, or nil if all can be read.
  package func unreadable(between source: String, and destination: String) -> (name: String, error: ModelFileError)? {
    guard let first = names.firstIndex(of: source), let last = names.firstIndex(of: destination) else { return nil }
    return bundle?.unreadable(between: first, and: last).first
  }
}

/// A named version of a model.
///
/// Most versions are only compared, so a version consists of the document in its file and its hashes. Model objects are
/// created only for the versions that a migration goes through.
package struct ModelVersion {
  package let name: String
  private let content: Content

  /// The content shared by copies of a version.
  private final class Content {
    let url: URL?
    var object: AnyObject?
    let makeDocument: () -> (ModelDocument, VersionHashes)
    lazy var made = makeDocument()

    init(url: URL?, _ makeDocument: @escaping () -> (ModelDocument, VersionHashes)) {
      self.url = url
      self.makeDocument = makeDocument
    }
  }

  /// Creates a version from a validated document.
  package init(name: String, document: ModelDocument, versionHashes: VersionHashes, url: URL? = nil) {
    self.name = name
    content = Content(url: url) { (document, versionHashes) }
  }

  /// Creates a version from a model of the program. Its document is created when it is first needed.
  package init(name: String, object: AnyObject, _ makeDocument: @escaping () -> (ModelDocument, VersionHashes)) {
    self.name = name
    content = Content(url: nil, makeDocument)
    content.object = object
  }

  /// The file that the version was read from; nil for a model of the program.
  package var url: URL? { content.url }

  /// The model object of this version, cached here by the code that creates it.
  package var object: AnyObject? {
    get { content.object }
    nonmutating set { content.object = newValue }
  }

  /// The identity of the version, unique as long as one of its copies exists.
  package var identity: ObjectIdentifier { ObjectIdentifier(content) }

  package var document: ModelDocument { content.made.0 }

  /// The hashes of the version's entities and properties.
  package var versionHashes: VersionHashes { content.made.1 }

  /// The entity hashes by name.
  package var hashes: [String: Data] { versionHashes.entities }

  /// The likeness of the version, for comparison with other versions.
  package var likeness: ModelLikeness { ModelLikeness(document, versionHashes) }

  /// Returns whether one of a store's version identifiers is that of this version. Ignores empty identifiers.
  package func isNamed(by identifiers: [String]) -> Bool {
    identifiers.contains { !$0.isEmpty && ($0 == name || document.versionIdentifiers.contains($0)) }
  }
}

/// The versions of a path search in order, including its two ends.
///
/// Versions with equal hashes become one version with several names. An end that is not a known version is placed next
/// to the version most similar to it: before it if it is the source, after it if it is the destination.
package struct VersionOrder {
  package private(set) var versions: [ModelVersion] = []
  package private(set) var source = 0
  package private(set) var destination = 0
  /// The positions of the versions by name.
  package private(set) var names: [String: Int] = [:]

  /// Orders the versions.
  ///
  /// - Parameter nearest: The version to follow an unknown source; nil for the most similar one.
  package init(
    known: [ModelVersion], source: ModelVersion, destination: ModelVersion,
    nearest: ModelVersion? = nil
  ) {
    var aliases: [[String]] = []
    var positions: [[String: Data]: Int] = [:]
    for version in known {
      if let position = positions[version.hashes] {
        aliases[position].append(version.name)
      } else {
        positions[version.hashes] = versions.count
        versions.append(version)
        aliases.append([version.name])
      }
    }
    func insert(_ end: ModelVersion, beside nearest: ModelVersion?, after: Bool) {
      guard !versions.contains(where: { Self.hashes($0) == Self.hashes(end) }) else { return }
      let chosen = nearest.flatMap { near in versions.firstIndex { Self.hashes($0) == Self.hashes(near) } }
      let position = (chosen ?? mostSimilar(to: end, last: after)).map { $0 + (after ? 1 : 0) } ?? versions.count
      versions.insert(end, at: position)
      aliases.insert([end.name], at: position)
    }
    insert(source, beside: nearest, after: false)
    insert(destination, beside: nil, after: true)
    for (position, version) in versions.enumerated() {
      // The ends keep the caller's names.
      if Self.hashes(version) == Self.hashes(source) { (self.source, versions[position]) = (position, source) }
      if Self.hashes(version) == Self.hashes(destination) {
        (self.destination, versions[position]) = (position, destination)
      }
      for name in aliases[position] { names[name] = position }
    }
  }

  private static func hashes(_ version: ModelVersion) -> [String: Data] {
    version.hashes
  }

  /// Returns the position of the version most similar to another one.
  private func mostSimilar(to end: ModelVersion, last: Bool) -> Int? {
    let own = end.likeness
    let distances = versions.map { own.distance(to: $0.likeness) }
    guard let least = distances.min() else { return nil }
    return last ? distances.lastIndex(of: least) : distances.firstIndex(of: least)
  }
}

/// Chooses the first version on the path of a store that was not written by a known version.
///
/// The choice is the version to which an inferred step drops the least of the store's contents; among equals, the one
/// most similar to the store's model.
package struct NearestVersion {
  /// Counts the contents of the store for each item, and omits items with a count of zero.
  package typealias Counter = ([DroppedContent]) throws -> [DroppedContent]

  package let model: ModelVersion
  /// The names of the store's entities.
  package let entities: Set<String>
  package let counted: Counter

  package init(model: ModelVersion, entities: Set<String>, counted: @escaping Counter) {
    self.model = model
    self.entities = entities
    self.counted = counted
  }

  /// Returns the best version, or nil if there are none.
  ///
  /// - Throws: The errors of the counter.
  package func choose(among versions: [ModelVersion]) throws -> ModelVersion? {
    let side = ModelSide(model.document, hashes: model.hashes)
    let own = model.likeness
    var best: (version: ModelVersion, losses: Int, distance: Int)?
    for version in versions {
      let other = ModelSide(version.document, hashes: version.hashes)
      let losses: Int
      do {
        let mapping = try MappingInference(source: side, destination: other).run()
        losses = try counted(
          DroppedContent.dropped(
            by: [.init(source: model.document, destination: version.document, mapping: mapping)], of: entities)
        ).count
      } catch is InferenceFailure {
        // An unreachable version is chosen only if there is no other.
        losses = Int.max
      }
      let distance = own.distance(to: version.likeness)
      if best.map({ (losses, distance) < ($0.losses, $0.distance) }) ?? true {
        best = (version, losses, distance)
      }
    }
    return best?.version
  }
}
