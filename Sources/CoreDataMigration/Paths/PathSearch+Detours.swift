// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The order of versions need not be that of their making: a version in between may lack what
/// the versions at both ends have, and going through it would cost the data.
extension PathSearch {
  /// The legs without versions between inferred steps that would drop an entity or property which the direct way keeps.
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
      // Where the direct way cannot be inferred there is nothing to compare with.
      let direct = inferred.mapping(from: first, to: last)
    else { return run }
    let isStrict = run.allSatisfy { canInfer(from: $0.source, to: $0.destination, isStrict: true) }
    guard canInfer(from: first, to: last, isStrict: isStrict),
      // A path that loses nothing has no version to leave out.
      loses(direct, through: [first] + run.map(\.destination))
    else { return run }
    let between = run.dropLast().map(\.destination).filter { !loses(direct, through: [first, $0, last]) }
    let kept = [first] + between + [last]
    let canBeInferred = zip(kept, kept.dropFirst()).allSatisfy { canInfer(from: $0, to: $1, isStrict: isStrict) }
    let path = !canBeInferred || loses(direct, through: kept) ? [first, last] : kept
    return zip(path, path.dropFirst()).map { Leg(source: $0, destination: $1, mapping: nil) }
  }

  /// What going through a version drops that the direct way keeps, as `Note.name`; nil where it is nothing.
  package func lost(from source: Int, through version: Int, to destination: Int) -> String? {
    inferred.mapping(from: source, to: destination).flatMap { lost($0, through: [source, version, destination]) }
  }

  /// Whether something that a mapping keeps is dropped on a path with the same ends.
  private func loses(_ direct: InferredMapping, through path: [Int]) -> Bool { lost(direct, through: path) != nil }

  private func lost(_ direct: InferredMapping, through path: [Int]) -> String? {
    var traces = direct.matched.map { match in
      Trace(
        entity: match.source,
        properties: Set((match.attributes + match.relationships).map(\.source)))
    }
    for (source, destination) in zip(path, path.dropFirst()) {
      // A way that cannot be inferred has nothing to lose; whether it can be gone is asked elsewhere.
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

  /// What an entity of the first version and its properties are called along a path.
  private struct Trace {
    var entity: String
    var properties: Set<String>
  }
}
