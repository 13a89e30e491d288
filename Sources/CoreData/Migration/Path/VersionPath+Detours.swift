// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// Versions are in the order of their names, which need not be that of their making: a version in between may lack what
/// the versions at both ends have, and going through it would cost the data.
extension VersionPath {
  /// The path without versions in between that would drop an entity or property which the direct way keeps.
  func withoutDetours(_ path: [ModelVersions.Version]) -> [ModelVersions.Version] {
    guard path.count > 2, let first = path.first, let last = path.last,
      // Where the direct way cannot be inferred there is nothing to compare with; the steps tell what is wrong with them.
      let direct = try? InferredMapping(source: first.model.document, destination: last.model.document)
    else { return path }
    let between = path.dropFirst().dropLast().filter { !loses(direct, through: [first, $0, last]) }
    let kept = [first] + between + [last]
    return loses(direct, through: kept) ? [first, last] : kept
  }

  /// Whether something that a mapping keeps is dropped on a path with the same ends.
  private func loses(_ direct: InferredMapping, through path: [ModelVersions.Version]) -> Bool {
    var traces = direct.matched.map { match in
      Trace(
        entity: match.source,
        properties: Set((match.attributes + match.relationships).map(\.source)))
    }
    for (source, destination) in zip(path, path.dropFirst()) {
      // A step that cannot be inferred is told as such when the steps are made.
      guard let mapping = try? InferredMapping(source: source.model.document, destination: destination.model.document)
      else { return false }
      for position in traces.indices {
        guard let match = mapping.match(ofSource: traces[position].entity) else { return true }
        let names = Dictionary(
          (match.attributes + match.relationships).map { ($0.source, $0.destination) }, uniquingKeysWith: { $1 })
        let properties = traces[position].properties.compactMap { names[$0] }
        if properties.count < traces[position].properties.count { return true }
        traces[position] = Trace(entity: match.destination, properties: Set(properties))
      }
    }
    return false
  }

  /// What an entity of the first version and its properties are called along a path.
  private struct Trace {
    var entity: String
    var properties: Set<String>
  }
}
