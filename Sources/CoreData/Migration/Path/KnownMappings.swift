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
struct KnownMappings {
  struct Pair: Hashable {
    let source: Int
    let destination: Int
  }

  private let versions: [ModelVersions.Version]
  private let names: [String: Int]
  /// The mapping models for two versions, those that map the most entities first.
  private(set) var fitting: [Pair: [MappingFile]] = [:]
  /// The mapping models that were meant for two versions, and do not fit them.
  private(set) var stale: [Pair: [MappingFile]] = [:]

  /// - Parameters:
  ///   - versions: in their order.
  ///   - names: the positions of versions by name, where some have several names.
  init(_ mappings: [MappingFile], versions: [ModelVersions.Version], names: [String: Int]) {
    self.versions = versions
    self.names = names
    let hashes = versions.map(\.model.entityVersionHashesByName)
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

  /// Keeps what Core Data would find for two versions: every mapping model that fits them, whatever else it may be for.
  mutating func keep(_ mappings: [MappingFile], from source: Int, to destination: Int) {
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
    let sources = tightest(found.0, of: sides.0)
    let destinations = tightest(found.1, of: sides.1)
    let pairs = sources.flatMap { source in
      destinations.filter { hashes[$0] != hashes[source] }.map { Pair(source: source, destination: $0) }
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
    guard best.score * 2 >= entities.count, best.score > 0 else { return }
    for pair in best.pairs { stale[pair, default: []].append(mapping) }
  }

  /// The versions that have all of the entities; of these only the ones that have no others, if there are any.
  private func tightest(_ known: [Int], of side: Set<MappingFile.NamedEntity>) -> [Int] {
    let fitting = versions.indices.filter { known[$0] == side.count }
    let names = Set(side.map(\.entity))
    let complete = fitting.filter { position in
      versions[position].model.entities.allSatisfy { $0.isAbstract || names.contains($0.name ?? "") }
    }
    return complete.isEmpty ? fitting : complete
  }
}
