// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The search for the path from one version to another. `MigrationPath` documents the rules.
package struct PathSearch {
  /// A step between the versions at two positions.
  package struct Leg {
    package let source: Int
    package let destination: Int
    /// The mapping model; nil for an inferred step.
    package let mapping: MappingFile?
  }

  /// The versions in order; no two have the same hashes.
  package let versions: [ModelVersion]
  package let source: Int
  package let destination: Int
  package let mappings: KnownMappings
  package let inferred: InferredSteps
  package let infers: Bool
  /// Whether the path may have several steps.
  package let isProgressive: Bool

  package init(
    versions: [ModelVersion], source: Int, destination: Int, mappings: KnownMappings, inferred: InferredSteps,
    infers: Bool, isProgressive: Bool
  ) {
    self.versions = versions
    self.source = source
    self.destination = destination
    self.mappings = mappings
    self.inferred = inferred
    self.infers = infers
    self.isProgressive = isProgressive
  }

  /// A version, and the start of the run of inferred steps that reached it.
  private struct State: Hashable {
    let version: Int
    let runStart: Int
  }

  private struct Arrival {
    let state: State
    let previous: State?
    let mapping: MappingFile?
    /// The number of states that were expanded before.
    let turn: Int
    /// The cost of the path to `previous`.
    let before: PathCost
  }

  /// Returns the cheapest path, or nil if there is none.
  ///
  /// Steps that leave objects without a required value are used only if there is no other path. They work for stores
  /// without such objects.
  package func legs() -> [Leg]? { legs(isStrict: true) ?? legs(isStrict: false) }

  /// Returns whether a step can be inferred and, if strict, works for all stores.
  package func canInfer(from source: Int, to destination: Int, isStrict: Bool) -> Bool {
    guard let mapping = inferred.mapping(from: source, to: destination) else { return false }
    return !isStrict || mapping.attributeWithoutValue == nil
  }

  private func legs(isStrict: Bool) -> [Leg]? {
    if let mapping = mappings.fitting[.init(source: source, destination: destination)]?.first {
      return [Leg(source: source, destination: destination, mapping: mapping)]
    }
    guard isProgressive else {
      let isPossible = infers && canInfer(from: source, to: destination, isStrict: isStrict)
      return isPossible ? [Leg(source: source, destination: destination, mapping: nil)] : nil
    }
    let departing = Dictionary(grouping: mappings.fitting.keys, by: \.source)
    var arrivals: [State: Arrival] = [:]
    var queue = CheapestFirst<Arrival>()
    // Arrivals with equal costs are ordered by the states they come from, then by version.
    func insert(_ arrival: Arrival, _ price: PathCost) {
      let order = (arrival.turn * versions.count + arrival.state.version) * 2 + (arrival.mapping == nil ? 1 : 0)
      queue.insert(arrival, arrival.before + price, order: order)
    }
    // An inferred step that skips more versions costs more, so each is inserted when the previous one is removed.
    func insertInferred(from state: State, to next: Int, _ turn: Int, _ cost: PathCost) {
      guard infers, versions.indices.contains(next), isOnward(state.version, next) else { return }
      insert(
        Arrival(
          state: State(version: next, runStart: state.runStart), previous: state, mapping: nil, turn: turn, before: cost
        ),
        PathCost(bypassedMappings: bypassedMappings(state, to: next), skipped: abs(next - state.version) - 1, steps: 1))
    }
    let direction = source <= destination ? 1 : -1
    let start = State(version: source, runStart: source)
    insert(Arrival(state: start, previous: nil, mapping: nil, turn: 0, before: PathCost()), PathCost())
    while let (arrival, cost) = queue.removeCheapest() {
      let state = arrival.state
      if let previous = arrival.previous, arrival.mapping == nil {
        insertInferred(from: previous, to: state.version + direction, arrival.turn, arrival.before)
      }
      guard arrivals[state] == nil else { continue }
      // Inference is expensive, so try it only if nothing cheaper has reached this state.
      if let previous = arrival.previous, arrival.mapping == nil,
        !canInfer(from: previous.version, to: state.version, isStrict: isStrict)
      {
        continue
      }
      arrivals[state] = arrival
      if state.version == destination { return legs(to: arrival, arrivals) }
      let turn = arrivals.count
      for pair in departing[state.version] ?? [] {
        guard let mapping = mappings.fitting[pair]?.first else { continue }
        let next = State(version: pair.destination, runStart: pair.destination)
        insert(
          Arrival(state: next, previous: state, mapping: mapping, turn: turn, before: cost),
          PathCost(
            codeSteps: mapping.needsCode ? 1 : 0, copies: 1, outside: isOnward(state.version, next.version) ? 0 : 1,
            steps: 1))
      }
      // Inferred steps drop what a version lacks, so they never leave the range between the ends.
      insertInferred(from: state, to: state.version + direction, turn, cost)
    }
    return nil
  }

  private func legs(to last: Arrival, _ arrivals: [State: Arrival]) -> [Leg] {
    var legs: [Leg] = []
    var arrival = last
    while let previous = arrival.previous, let before = arrivals[previous] {
      legs.append(Leg(source: previous.version, destination: arrival.state.version, mapping: arrival.mapping))
      arrival = before
    }
    return legs.reversed()
  }

  // MARK: The order of versions

  /// Returns the position of a version in the direction from source to destination.
  private func rank(_ version: Int) -> Int { source <= destination ? version : -version }

  /// Returns whether a step leads towards the destination and not past it.
  private func isOnward(_ version: Int, _ next: Int) -> Bool {
    rank(version) >= rank(source) && rank(next) > rank(version) && rank(next) <= rank(destination)
  }

  /// Returns the number of mapping models that another inferred step would bypass.
  private func bypassedMappings(_ state: State, to next: Int) -> Int {
    mappings.fitting.keys.count { pair in
      isWithin(pair, state.runStart, next) && rank(pair.destination) > rank(state.version)
    }
  }

  /// Returns whether two versions are between two others.
  private func isWithin(_ pair: KnownMappings.Pair, _ start: Int, _ end: Int) -> Bool {
    rank(pair.source) < rank(pair.destination) && rank(pair.source) >= rank(start)
      && rank(pair.destination) <= rank(end)
  }

  /// Returns the first stale mapping model between two versions.
  package func stale(between start: Int, and end: Int) -> (pair: KnownMappings.Pair, mapping: MappingFile)? {
    let pairs = mappings.stale.keys.filter { isWithin($0, start, end) }
    guard
      let pair = pairs.min(by: { (rank($0.source), rank($0.destination)) < (rank($1.source), rank($1.destination)) }),
      let mapping = mappings.stale[pair]?.first
    else { return nil }
    return (pair, mapping)
  }

  /// Returns the mapping models between two versions, in path order.
  package func mappingModels(between start: Int, and end: Int) -> [(pair: KnownMappings.Pair, mapping: MappingFile)] {
    mappings.fitting.filter { isWithin($0.key, start, end) }.compactMap { pair, files in files.first.map { (pair, $0) }
    }
    .sorted { (rank($0.pair.source), rank($0.pair.destination)) < (rank($1.pair.source), rank($1.pair.destination)) }
  }

  /// Returns the versions strictly between two others, in path order; none if the path may have only one step.
  package func between(_ start: Int, _ end: Int) -> [Int] {
    guard isProgressive else { return [] }
    let inside = versions.indices.filter { $0 > min(start, end) && $0 < max(start, end) }
    return start < end ? inside : inside.reversed()
  }
}

// MARK: Detours

/// The removal of detours. Versions may be out of order: an intermediate version may lack what both ends have, and
/// going through it would lose data.
extension PathSearch {
  /// Removes intermediate versions of inferred steps that would drop an entity or property which the direct step keeps.
  package func withoutDetours(_ legs: [Leg]) -> [Leg] {
    var result: [Leg] = []
    var run: [Leg] = []
    for leg in legs {
      if leg.mapping == nil {
        run.append(leg)
      } else {
        result += shortened(run) + [leg]
        run = []
      }
    }
    return result + shortened(run)
  }

  private func shortened(_ run: [Leg]) -> [Leg] {
    guard run.count > 1, let first = run.first?.source, let last = run.last?.destination,
      // Without a direct step, there is nothing to compare with.
      let direct = inferred.mapping(from: first, to: last)
    else { return run }
    let isStrict = run.allSatisfy { canInfer(from: $0.source, to: $0.destination, isStrict: true) }
    guard canInfer(from: first, to: last, isStrict: isStrict),
      // A path without losses needs no detour removed.
      loses(direct, through: [first] + run.map(\.destination))
    else { return run }
    let between = run.dropLast().map(\.destination).filter { !loses(direct, through: [first, $0, last]) }
    let kept = [first] + between + [last]
    let canBeInferred = zip(kept, kept.dropFirst()).allSatisfy { canInfer(from: $0, to: $1, isStrict: isStrict) }
    let path = !canBeInferred || loses(direct, through: kept) ? [first, last] : kept
    return zip(path, path.dropFirst()).map { Leg(source: $0, destination: $1, mapping: nil) }
  }

  /// Returns an entity or property, such as `Note.name`, that a path through a version drops although the direct step
  /// keeps it, or nil if there is none.
  package func lost(from source: Int, through version: Int, to destination: Int) -> String? {
    inferred.mapping(from: source, to: destination).flatMap { lost($0, through: [source, version, destination]) }
  }

  /// Returns whether a path drops something that a direct mapping with the same ends keeps.
  private func loses(_ direct: InferredMapping, through path: [Int]) -> Bool { lost(direct, through: path) != nil }

  private func lost(_ direct: InferredMapping, through path: [Int]) -> String? {
    var traces = direct.matched.map { match in
      Trace(
        entity: match.source,
        properties: Set((match.attributes + match.relationships).map(\.source)))
    }
    for (source, destination) in zip(path, path.dropFirst()) {
      // The step may not exist; `canInfer` reports that elsewhere.
      guard let mapping = inferred.mapping(from: source, to: destination) else { return nil }
      for position in traces.indices {
        guard let match = mapping.match(ofSource: traces[position].entity) else { return traces[position].entity }
        let names = Dictionary(
          (match.attributes + match.relationships).map { ($0.source, $0.destination) }, uniquingKeysWith: { $1 })
        let properties = traces[position].properties.compactMap { names[$0] }
        if properties.count < traces[position].properties.count {
          let missing = traces[position].properties.filter { names[$0] == nil }.sorted().first ?? ""
          return "\(traces[position].entity).\(missing)"
        }
        traces[position] = Trace(entity: match.destination, properties: Set(properties))
      }
    }
    return nil
  }

  /// The names of an entity and its properties along a path.
  private struct Trace {
    var entity: String
    var properties: Set<String>
  }
}

/// The cost of a path. Each component outweighs all later ones.
package struct PathCost: Comparable {
  /// The number of mapping models that inferred steps bypass.
  package var bypassedMappings = 0
  /// The number of steps that need the program's code.
  package var codeSteps = 0
  /// The number of steps that copy the store.
  package var copies = 0
  /// The number of mapping models that lead to versions outside the range between the two ends.
  package var outside = 0
  /// The number of versions that inferred steps skip.
  package var skipped = 0
  package var steps = 0

  package static func < (left: PathCost, right: PathCost) -> Bool {
    (left.bypassedMappings, left.codeSteps, left.copies, left.outside, left.skipped, left.steps)
      < (right.bypassedMappings, right.codeSteps, right.copies, right.outside, right.skipped, right.steps)
  }

  package static func + (left: PathCost, right: PathCost) -> PathCost {
    PathCost(
      bypassedMappings: left.bypassedMappings + right.bypassedMappings, codeSteps: left.codeSteps + right.codeSteps,
      copies: left.copies + right.copies, outside: left.outside + right.outside, skipped: left.skipped + right.skipped,
      steps: left.steps + right.steps)
  }
}

/// A priority queue by cost; among equals, by a given order.
package struct CheapestFirst<Element> {
  private var heap: [(cost: PathCost, order: Int, element: Element)] = []

  package mutating func insert(_ element: Element, _ cost: PathCost, order: Int) {
    heap.append((cost, order, element))
    var child = heap.count - 1
    while child > 0, precedes(child, (child - 1) / 2) {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  package mutating func removeCheapest() -> (element: Element, cost: PathCost)? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    if !heap.isEmpty {
      heap[0] = last
      sink()
    }
    return (first.element, first.cost)
  }

  private mutating func sink() {
    var parent = 0
    while true {
      let children = [2 * parent + 1, 2 * parent + 2].filter { $0 < heap.count }
      guard let least = children.min(by: precedes), precedes(least, parent) else { return }
      heap.swapAt(least, parent)
      parent = least
    }
  }

  private func precedes(_ a: Int, _ b: Int) -> Bool {
    heap[a].cost == heap[b].cost ? heap[a].order < heap[b].order : heap[a].cost < heap[b].cost
  }
}

/// The inferred mappings between versions, each computed once, when it is first needed.
package struct InferredSteps {
  private let versions: [ModelVersion]
  private let mappings: InferredMappings

  /// Creates a cache for versions.
  ///
  /// - Parameter mappings: The known mappings, which several searches can share.
  package init(_ versions: [ModelVersion], sharing mappings: InferredMappings = InferredMappings()) {
    self.versions = versions
    self.mappings = mappings
  }

  package func side(_ version: Int) -> ModelSide { mappings.side(versions[version]) }

  /// Returns the mapping between two versions, or the reason why it cannot be inferred.
  package func result(from source: Int, to destination: Int) -> Result<InferredMapping, any Error> {
    mappings.result(from: versions[source], to: versions[destination])
  }

  /// Returns the mapping between two versions, or nil if none can be inferred.
  package func mapping(from source: Int, to destination: Int) -> InferredMapping? {
    guard case .success(let mapping) = result(from: source, to: destination) else { return nil }
    return mapping
  }
}

/// A cache of inferred mappings, independent of the order of versions.
package final class InferredMappings {
  private struct Pair: Hashable {
    let source: ObjectIdentifier
    let destination: ObjectIdentifier
  }

  private var sides: [ObjectIdentifier: (version: ModelVersion, side: ModelSide)] = [:]
  private var results: [Pair: Result<InferredMapping, any Error>] = [:]

  /// The number of mappings that were inferred or could not be.
  package var count: Int { results.count }

  package init() {}

  fileprivate func side(_ version: ModelVersion) -> ModelSide {
    if let known = sides[version.identity] { return known.side }
    let side = ModelSide(version.document, hashes: version.hashes)
    // Retain the version, so that its identity is not reused.
    sides[version.identity] = (version, side)
    return side
  }

  fileprivate func result(from source: ModelVersion, to destination: ModelVersion) -> Result<InferredMapping, any Error>
  {
    let pair = Pair(source: source.identity, destination: destination.identity)
    if let known = results[pair] { return known }
    let result = Result { try MappingInference(source: side(source), destination: side(destination)).run() }
    results[pair] = result
    return result
  }
}
