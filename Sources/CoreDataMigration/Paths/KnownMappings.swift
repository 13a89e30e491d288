// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The mapping models between the versions of a model.
///
/// A source (`.xcmappingmodel`) that names two of the versions applies to these two, whatever hashes it contains,
/// because the hashes in a source become outdated with every edit.
///
/// Any other mapping model applies to the versions whose entity hashes it contains. If there are several such versions,
/// and it maps all entities of some of them, it applies to those. This may still leave several pairs of versions, if
/// the mapping model omits entities or its entities do not change between versions. It then applies to only one step of
/// the migration, so that it never runs twice, regardless of the order of the versions:
///
/// 1. The pair of which it omits the fewest entities; among equals, the shortest step.
/// 2. Among several, one to which another mapping model applies.
/// 3. Otherwise the two ends of the migration, if it fits them.
/// 4. Otherwise the first step.
///
/// **Stale mapping models.** A mapping model that fits no two versions is stale for the pair of versions, in order, for
/// which most of its entity hashes are right, provided that at least half of them are, over both sides. On a tie, it is
/// stale for each such pair. A source is stale for the versions that it names if one of them lacks an entity that it
/// maps. If most of its entities are missing, the source belongs to another model with versions of the same names.
package struct KnownMappings {
  package struct Pair: Hashable {
    package let source: Int
    package let destination: Int

    package init(source: Int, destination: Int) {
      self.source = source
      self.destination = destination
    }
  }

  private let versions: [ModelVersion]
  private let names: [String: Int]
  private let all: [MappingFile]
  /// The first and the last version of the migration; nil if none is planned.
  private let ends: Pair?
  /// The mapping models that fit two versions, those with the most entity mappings first.
  package private(set) var fitting: [Pair: [MappingFile]] = [:]
  /// The mapping models that were intended for two versions but do not fit them.
  package private(set) var stale: [Pair: [MappingFile]] = [:]

  /// The mapping models that neither fit nor are stale for any two versions.
  package private(set) var unplaced: [MappingFile] = []
  /// The mapping models that apply to one of several steps of the migration.
  private var undecided: [(MappingFile, [Pair])] = []

  /// Assigns mapping models to versions.
  ///
  /// - Parameters:
  ///   - mappings: The mapping models.
  ///   - versions: The versions in order.
  ///   - names: The positions of versions by name. A version may have several names.
  ///   - ends: The first and the last version of the migration; nil if none is planned.
  package init(_ mappings: [MappingFile], versions: [ModelVersion], names: [String: Int], ends: Pair? = nil) {
    self.versions = versions
    self.names = names
    self.ends = ends
    all = mappings
    let hashes = versions.map(\.hashes)
    for mapping in mappings {
      if let pair = named(mapping) {
        place(mapping, named: pair, hashes)
      } else {
        place(mapping, hashes)
      }
    }
    for (mapping, choice) in undecided {
      let pair = choice.first { fitting[$0] != nil } ?? self.choice(of: choice)
      fitting[pair, default: []].append(mapping)
    }
    for pair in fitting.keys {
      // Keep the order of mapping models with equal counts.
      let list = fitting[pair] ?? []
      fitting[pair] = list.enumerated().sorted { left, right in
        let counts = (left.element.document.entityMappings.count, right.element.document.entityMappings.count)
        return counts.0 == counts.1 ? left.offset < right.offset : counts.0 > counts.1
      }.map(\.element)
    }
  }

  /// Returns a mapping model that starts at the unknown version where another ends, or ends where it starts.
  package func continuation(of mapping: MappingFile, at side: MappingMismatch.Side) -> MappingFile? {
    let wanted = Self.hashes(of: mapping, side)
    let other: MappingMismatch.Side = side == .destination ? .source : .destination
    return all.first { candidate in
      let found = Self.hashes(of: candidate, other).filter { wanted[$0.key] != nil }
      return !found.isEmpty && found.allSatisfy { wanted[$0.key] == $0.value }
    }
  }

  private static func hashes(of mapping: MappingFile, _ side: MappingMismatch.Side) -> [String: Data] {
    let entities = MappingFile.entities(of: mapping.document).filter { $0.side == side }
    return Dictionary(entities.compactMap { entity in entity.hash.map { (entity.entity, $0) } }) { first, _ in first }
  }

  /// Keeps only the mapping models that Core Data would find for two versions: all that fit them, even if they fit
  /// other versions too.
  package mutating func keep(_ mappings: [MappingFile], from source: Int, to destination: Int) {
    let ends = [versions[source], versions[destination]]
    // Models created in code may share a name, which then identifies none of them.
    let names = ends[0].name == ends[1].name ? [:] : [ends[0].name: 0, ends[1].name: 1]
    let both = Pair(source: 0, destination: 1)
    let two = KnownMappings(mappings, versions: ends, names: names, ends: both)
    let pair = Pair(source: source, destination: destination)
    fitting = two.fitting[both].map { [pair: $0] } ?? [:]
    stale = stale.filter { $0.key == pair }
  }

  /// Returns the versions that a source names, if both are known.
  private func named(_ mapping: MappingFile) -> Pair? {
    guard let source = mapping.document.sourceVersionName, let destination = mapping.document.destinationVersionName,
      let first = names[source], let second = names[destination], first != second
    else { return nil }
    return Pair(source: first, destination: second)
  }

  private mutating func place(_ mapping: MappingFile, named pair: Pair, _ hashes: [[String: Data]]) {
    let entities = MappingFile.entities(of: mapping.document)
    let missing = entities.count { named in
      (named.side == .source ? hashes[pair.source] : hashes[pair.destination])[named.entity] == nil
    }
    if missing == 0 {
      fitting[pair, default: []].append(mapping)
    } else if missing * 2 < entities.count {
      stale[pair, default: []].append(mapping)
    } else {
      unplaced.append(mapping)
    }
  }

  private mutating func place(_ mapping: MappingFile, _ hashes: [[String: Data]]) {
    let entities = Set(MappingFile.entities(of: mapping.document))
    let sides = (entities.filter { $0.side == .source }, entities.filter { $0.side == .destination })
    guard !sides.0.isEmpty, !sides.1.isEmpty else {
      unplaced.append(mapping)
      return
    }
    func known(_ side: Set<MappingFile.NamedEntity>) -> [Int] {
      hashes.map { model in side.count { $0.hash != nil && model[$0.entity] == $0.hash } }
    }
    let found = (known(sides.0), known(sides.1))
    let pairs = self.pairs(
      from: versions.indices.filter { found.0[$0] == sides.0.count },
      to: versions.indices.filter { found.1[$0] == sides.1.count }, of: sides, hashes)
    if let ends, pairs.count > 1, isWithin(pairs[0], ends) {
      undecided.append((mapping, pairs))
      return
    }
    for pair in pairs { fitting[pair, default: []].append(mapping) }
    guard pairs.isEmpty else { return }
    var best: (score: Int, pairs: [Pair]) = (0, [])
    for source in versions.indices {
      for destination in versions.indices where destination > source {
        let score = found.0[source] + found.1[destination]
        if score > best.score { best = (score, []) }
        if score == best.score { best.pairs.append(Pair(source: source, destination: destination)) }
      }
    }
    guard best.score * 2 >= entities.count, best.score > 0 else {
      unplaced.append(mapping)
      return
    }
    for pair in best.pairs { stale[pair, default: []].append(mapping) }
  }

  /// Returns the pairs to which a mapping model may apply, among the versions that have all its entities.
  ///
  /// On each side, prefers versions without other entities.
  private func pairs(
    from sources: [Int], to destinations: [Int],
    of sides: (Set<MappingFile.NamedEntity>, Set<MappingFile.NamedEntity>), _ hashes: [[String: Data]]
  ) -> [Pair] {
    func pairs(_ sources: [Int], _ destinations: [Int]) -> [Pair] {
      sources.flatMap { source in
        destinations.filter { hashes[$0] != hashes[source] }.map { Pair(source: source, destination: $0) }
      }
    }
    let all = pairs(sources, destinations)
    let tightest = pairs(self.tightest(sources, of: sides.0), self.tightest(destinations, of: sides.1))
    guard let ends else {
      return tightest.isEmpty ? leastUnmapped(onward(all) { $0 < $1 }, sides) : tightest
    }
    let isForward = ends.source < ends.destination
    func betweenEnds(_ pairs: [Pair]) -> [Pair] { pairs.filter { isWithin($0, ends) } }
    let otherwise = tightest.isEmpty ? onward(all) { ($0 < $1) == isForward } : tightest
    let least = leastUnmapped([betweenEnds(tightest), betweenEnds(all)].first { !$0.isEmpty } ?? otherwise, sides)
    let span = least.map { abs($0.destination - $0.source) }.min()
    let shortest = least.filter { abs($0.destination - $0.source) == span }
    let isBetweenEnds = shortest.first.map { isWithin($0, ends) } ?? false
    return isBetweenEnds && shortest.count > 1 && all.contains(ends) ? shortest + [ends] : shortest
  }

  /// Returns one of several pairs: the ends of the migration, or the first pair.
  private func choice(of pairs: [Pair]) -> Pair {
    guard let ends, !pairs.contains(ends) else { return ends ?? pairs[0] }
    let isForward = ends.source < ends.destination
    return pairs.min { isForward ? $0.source < $1.source : $0.source > $1.source } ?? ends
  }

  /// Returns whether a pair lies between the ends of a migration and has its direction.
  private func isWithin(_ pair: Pair, _ ends: Pair) -> Bool {
    let range = min(ends.source, ends.destination)...max(ends.source, ends.destination)
    return (pair.source < pair.destination) == (ends.source < ends.destination) && range.contains(pair.source)
      && range.contains(pair.destination)
  }

  /// Returns the pairs in the given order, or all pairs if none is in that order.
  private func onward(_ pairs: [Pair], _ isOnward: (Int, Int) -> Bool) -> [Pair] {
    let found = pairs.filter { isOnward($0.source, $0.destination) }
    return found.isEmpty ? pairs : found
  }

  /// Returns the pairs of which the mapping model omits the fewest entities.
  private func leastUnmapped(
    _ pairs: [Pair], _ sides: (Set<MappingFile.NamedEntity>, Set<MappingFile.NamedEntity>)
  ) -> [Pair] {
    let counted = pairs.map { ($0, count: unmapped($0.source, sides.0) + unmapped($0.destination, sides.1)) }
    let least = counted.map(\.count).min()
    return counted.filter { $0.count == least }.map(\.0)
  }

  /// Returns the versions whose entities are all named, or all given versions if there are none.
  private func tightest(_ fitting: [Int], of side: Set<MappingFile.NamedEntity>) -> [Int] {
    let complete = fitting.filter { unmapped($0, side) == 0 }
    return complete.isEmpty ? fitting : complete
  }

  /// Returns the number of entities of a version that one side of a mapping model does not name.
  private func unmapped(_ version: Int, _ side: Set<MappingFile.NamedEntity>) -> Int {
    let names = Set(side.map(\.entity))
    return versions[version].document.entities.count { !$0.isAbstract && !names.contains($0.name) }
  }
}

extension [MappingFile] {
  /// Returns the mapping models that neither fit nor are stale for any two versions.
  package func unused(among versions: [ModelVersion]) -> [MappingFile] {
    let names = Dictionary(versions.enumerated().map { ($0.element.name, $0.offset) }) { first, _ in first }
    return filter { file in
      let known = KnownMappings([file], versions: versions, names: names)
      return known.fitting.isEmpty && known.stale.isEmpty
    }
  }
}

/// A mapping model that a migration may use, read from a file or created in code.
package struct MappingFile {
  /// The file; nil for a mapping model created in code.
  package let url: URL?
  package let document: MappingDocument
  /// The mapping model created in code.
  package let object: AnyObject?

  package init(url: URL?, document: MappingDocument, object: AnyObject? = nil) {
    self.url = url
    self.document = document
    self.object = object
  }

  /// The mapping model's name in messages.
  package var name: String { url.map { "'\($0.lastPathComponent)'" } ?? "made in code" }

  /// An entity on one side of an entity mapping.
  package struct NamedEntity: Hashable {
    package let mapping: String
    package let side: MappingMismatch.Side
    package let entity: String
    package let hash: Data?
  }

  /// Returns the entities that the mapping model names.
  package static func entities(of document: MappingDocument) -> [NamedEntity] {
    document.entityMappings.flatMap { mapping in
      [
        mapping.sourceEntityName.map {
          NamedEntity(mapping: mapping.name, side: .source, entity: $0, hash: mapping.sourceEntityVersionHash)
        },
        mapping.destinationEntityName.map {
          NamedEntity(mapping: mapping.name, side: .destination, entity: $0, hash: mapping.destinationEntityVersionHash)
        },
      ].compactMap { $0 }
    }
  }

  /// Returns the entities whose hashes differ between the mapping model and the models; empty if it fits.
  package static func mismatches(
    of document: MappingDocument, source: [String: Data], destination: [String: Data]
  ) -> [MappingMismatch] {
    entities(of: document).compactMap { named in
      let found = (named.side == .source ? source : destination)[named.entity]
      if let found, found == named.hash { return nil }
      return MappingMismatch(
        mapping: named.mapping, side: named.side, entity: named.entity, wanted: named.hash, found: found)
    }
  }

  /// Whether the mapping model needs code of the program, such as migration policies.
  package var needsCode: Bool {
    document.entityMappings.contains { $0.kind == .custom || !($0.policyClassName ?? "").isEmpty }
  }
}

/// An entity whose version hash differs between a mapping model and a model.
package struct MappingMismatch: Hashable, Sendable {
  package enum Side: String, Hashable, Sendable {
    case source, destination
  }

  /// The name of the entity mapping.
  package var mapping: String
  package var side: Side
  /// The entity that the mapping names.
  package var entity: String
  /// The version hash in the mapping; nil if it has none.
  package var wanted: Data?
  /// The version hash in the model; nil if the model lacks the entity.
  package var found: Data?

  package init(mapping: String, side: Side, entity: String, wanted: Data? = nil, found: Data? = nil) {
    self.mapping = mapping
    self.side = side
    self.entity = entity
    self.wanted = wanted
    self.found = found
  }
}
