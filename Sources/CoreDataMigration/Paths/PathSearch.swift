// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Searches for the way from one version to another. `MigrationPath` says by what rules.
package struct PathSearch {
  /// From one version to another, by their positions.
  package struct Leg {
    package let source: Int
    package let destination: Int
    /// Nil for an inferred step.
    package let mapping: MappingFile?

    package init(
      source: Int, destination: Int, mapping: MappingFile?
    ) {
      self.source = source
      self.destination = destination
      self.mapping = mapping
    }
  }

  /// In their order; no two have the same hashes.
  package let versions: [ModelVersion]
  package let source: Int
  package let destination: Int
  package let mappings: KnownMappings
  package let inferred: InferredSteps
  package let infers: Bool
  /// Whether there may be several steps.
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

  /// A version, and where the inferred steps began that have led there.
  private struct State: Hashable {
    let version: Int
    let runStart: Int
  }

  private struct Arrival {
    let state: State
    let previous: State?
    let mapping: MappingFile?
  }

  /// The cheapest way; nil where there is none.
  ///
  /// Steps that leave objects without a value they must have are gone only where nothing else leads there: they can be gone
  /// by stores without such objects.
  package func legs() -> [Leg]? { legs(isStrict: true) ?? legs(isStrict: false) }

  /// Whether an inferred step can be gone, in a strict sense by all stores.
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
    var arrivals: [State: Arrival] = [:]
    var queue = CheapestFirst<Arrival>()
    queue.insert(
      Arrival(state: State(version: source, runStart: source), previous: nil, mapping: nil), PathCost())
    while let (arrival, cost) = queue.removeCheapest() {
      guard arrivals[arrival.state] == nil else { continue }
      // Inference is tried only where nothing cheaper leads on.
      if let previous = arrival.previous, arrival.mapping == nil,
        !canInfer(from: previous.version, to: arrival.state.version, isStrict: isStrict)
      {
        continue
      }
      arrivals[arrival.state] = arrival
      if arrival.state.version == destination { return legs(to: arrival, arrivals) }
      for (next, price) in departures(from: arrival.state) where arrivals[next.state] == nil {
        queue.insert(next, cost + price)
      }
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

  private func departures(from state: State) -> [(Arrival, PathCost)] {
    var found: [(Arrival, PathCost)] = []
    for next in versions.indices where next != state.version {
      let onward = isOnward(state.version, next)
      if let mapping = mappings.fitting[.init(source: state.version, destination: next)]?.first {
        found.append(
          (
            Arrival(state: State(version: next, runStart: next), previous: state, mapping: mapping),
            PathCost(codeSteps: mapping.needsCode ? 1 : 0, copies: 1, outside: onward ? 0 : 1, steps: 1)
          ))
      }
      // Inference drops what a version does not have: no way leads over versions that are not on the way.
      if infers, onward {
        found.append(
          (
            Arrival(state: State(version: next, runStart: state.runStart), previous: state, mapping: nil),
            PathCost(
              passedOver: passedOver(state, to: next), skipped: abs(next - state.version) - 1, steps: 1)
          ))
      }
    }
    return found
  }

  // MARK: The order of versions

  /// A version's place on the way from source to destination.
  private func rank(_ version: Int) -> Int { source <= destination ? version : -version }

  /// Whether a step leads on towards the destination, and not past it.
  private func isOnward(_ version: Int, _ next: Int) -> Bool {
    rank(version) >= rank(source) && rank(next) > rank(version) && rank(next) <= rank(destination)
  }

  /// How many mapping models a further inferred step passes over.
  private func passedOver(_ state: State, to next: Int) -> Int {
    mappings.fitting.keys.count { pair in
      isWithin(pair, state.runStart, next) && rank(pair.destination) > rank(state.version)
    }
  }

  /// Whether two versions lie on the way between two others.
  private func isWithin(_ pair: KnownMappings.Pair, _ start: Int, _ end: Int) -> Bool {
    rank(pair.source) < rank(pair.destination) && rank(pair.source) >= rank(start)
      && rank(pair.destination) <= rank(end)
  }

  /// A mapping model that does not fit any more, and that lies between two versions.
  package func stale(between start: Int, and end: Int) -> (pair: KnownMappings.Pair, mapping: MappingFile)? {
    let pairs = mappings.stale.keys.filter { isWithin($0, start, end) }
    guard
      let pair = pairs.min(by: { (rank($0.source), rank($0.destination)) < (rank($1.source), rank($1.destination)) }),
      let mapping = mappings.stale[pair]?.first
    else { return nil }
    return (pair, mapping)
  }

  /// The mapping models that lie between two versions, in the order of going.
  package func passed(between start: Int, and end: Int) -> [(pair: KnownMappings.Pair, mapping: MappingFile)] {
    mappings.fitting.filter { isWithin($0.key, start, end) }.compactMap { pair, files in files.first.map { (pair, $0) }
    }
    .sorted { (rank($0.pair.source), rank($0.pair.destination)) < (rank($1.pair.source), rank($1.pair.destination)) }
  }

  /// The versions that lie strictly between two others, in the order of going; none where there may be only one step.
  package func between(_ start: Int, _ end: Int) -> [Int] {
    guard isProgressive else { return [] }
    let inside = versions.indices.filter { $0 > min(start, end) && $0 < max(start, end) }
    return start < end ? inside : inside.reversed()
  }
}
