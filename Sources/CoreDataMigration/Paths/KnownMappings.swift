// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// Which mapping models lead from which version to which.
///
/// A source (`.xcmappingmodel`) that names two of the versions is for these two, whatever hashes it holds: those inside a
/// source grow stale with every edit. Any other mapping model is for the versions whose entities have the hashes that it
/// wants; where these are several, and it maps all entities of some, for those.
///
/// **Stale mapping models.** A mapping model that fits no two versions is stale for versions, source before destination in
/// their order, of whose entities it knows at least half the hashes, counted over both sides, and more than of any other two;
/// in doubt for each of them. A source is stale for the versions that it names when one of these lacks an entity that it
/// maps, unless most of its entities are missing: then it is for another model with versions of the same names.
package struct KnownMappings {
  package struct Pair: Hashable {
    package let source: Int
    package let destination: Int

    package init(
      source: Int, destination: Int
    ) {
      self.source = source
      self.destination = destination
    }
  }

  private let versions: [ModelVersion]
  private let names: [String: Int]
  private let all: [MappingFile]
  /// The mapping models for two versions, those that map the most entities first.
  package private(set) var fitting: [Pair: [MappingFile]] = [:]
  /// The mapping models that were meant for two versions, and do not fit them.
  package private(set) var stale: [Pair: [MappingFile]] = [:]

  /// - Parameters:
  ///   - versions: in their order.
  ///   - names: the positions of versions by name, where some have several names.
  package init(_ mappings: [MappingFile], versions: [ModelVersion], names: [String: Int]) {
    self.versions = versions
    self.names = names
    all = mappings
    let hashes = versions.map(\.hashes)
    for mapping in mappings {
      if let pair = named(mapping) {
        place(mapping, named: pair, hashes)
      } else {
        place(mapping, hashes)
      }
    }
    for pair in fitting.keys {
      // Of equals the first stays first.
      let list = fitting[pair] ?? []
      fitting[pair] = list.enumerated().sorted { left, right in
        let counts = (left.element.document.entityMappings.count, right.element.document.entityMappings.count)
        return counts.0 == counts.1 ? left.offset < right.offset : counts.0 > counts.1
      }.map(\.element)
    }
  }

  /// The mapping model that goes on where one ends, or that ends where it begins, at a version that is not known.
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

  /// Keeps what Core Data would find for two versions: every mapping model that fits them, whatever else it may be for.
  package mutating func keep(_ mappings: [MappingFile], from source: Int, to destination: Int) {
    let ends = [versions[source], versions[destination]]
    // Models that were made in code may have one name, which tells nothing then.
    let names = ends[0].name == ends[1].name ? [:] : [ends[0].name: 0, ends[1].name: 1]
    let two = KnownMappings(mappings, versions: ends, names: names)
    let pair = Pair(source: source, destination: destination)
    fitting = two.fitting[Pair(source: 0, destination: 1)].map { [pair: $0] } ?? [:]
    stale = stale.filter { $0.key == pair }
  }

  /// The versions that a source names, where both are known.
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
    }
  }

  private mutating func place(_ mapping: MappingFile, _ hashes: [[String: Data]]) {
    let entities = Set(MappingFile.entities(of: mapping.document))
    let sides = (entities.filter { $0.side == .source }, entities.filter { $0.side == .destination })
    guard !sides.0.isEmpty, !sides.1.isEmpty else { return }
    func known(_ side: Set<MappingFile.NamedEntity>) -> [Int] {
      hashes.map { model in side.count { $0.hash != nil && model[$0.entity] == $0.hash } }
    }
    let found = (known(sides.0), known(sides.1))
    let pairs = self.pairs(
      from: versions.indices.filter { found.0[$0] == sides.0.count },
      to: versions.indices.filter { found.1[$0] == sides.1.count }, of: sides, hashes)
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
    guard best.score * 2 >= entities.count, best.score > 0 else { return }
    for pair in best.pairs { stale[pair, default: []].append(mapping) }
  }

  /// Of the versions that have all entities of either side, the pairs that the mapping model is for.
  ///
  /// On each side these are the versions that have no other entities, if there are any. A mapping model that leaves some out,
  /// or whose entities all stay the same, is for the two versions, the earlier one first, of which it leaves out the fewest.
  private func pairs(
    from sources: [Int], to destinations: [Int],
    of sides: (Set<MappingFile.NamedEntity>, Set<MappingFile.NamedEntity>), _ hashes: [[String: Data]]
  ) -> [Pair] {
    func pairs(_ sources: [Int], _ destinations: [Int]) -> [Pair] {
      sources.flatMap { source in
        destinations.filter { hashes[$0] != hashes[source] }.map { Pair(source: source, destination: $0) }
      }
    }
    let tightest = pairs(self.tightest(sources, of: sides.0), self.tightest(destinations, of: sides.1))
    guard tightest.isEmpty else { return tightest }
    let all = pairs(sources, destinations)
    let onward = all.filter { $0.source < $0.destination }
    let counted = (onward.isEmpty ? all : onward).map { pair in
      (pair, count: unmapped(pair.source, sides.0) + unmapped(pair.destination, sides.1))
    }
    let least = counted.map(\.count).min()
    return counted.filter { $0.count == least }.map(\.0)
  }

  /// Of versions that have all of the entities the ones that have no others, or all where each has others.
  private func tightest(_ fitting: [Int], of side: Set<MappingFile.NamedEntity>) -> [Int] {
    let complete = fitting.filter { unmapped($0, side) == 0 }
    return complete.isEmpty ? fitting : complete
  }

  /// How many entities of a version one side of a mapping model does not name.
  private func unmapped(_ version: Int, _ side: Set<MappingFile.NamedEntity>) -> Int {
    let names = Set(side.map(\.entity))
    return versions[version].document.entities.count { !$0.isAbstract && !names.contains($0.name) }
  }
}
