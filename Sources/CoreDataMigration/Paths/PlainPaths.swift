// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The versions from which the path to the last one goes through all versions in between, by inferred steps.
///
/// It is what `PathSearch` finds for each of them without mapping models, in time proportional to the number of versions: what
/// the steps from a version keep follows from what those from the next one keep.
package struct PlainPaths {
  /// For each version, whether its path goes through all that follow.
  package let arePlain: [Bool]

  /// - Parameters:
  ///   - versions: in order; no two have the same hashes.
  ///   - mappings: the mappings that are known.
  package init(_ versions: [ModelVersion], sharing mappings: InferredMappings) {
    let inferred = InferredSteps(versions, sharing: mappings)
    var arePlain = versions.map { _ in false }
    guard let last = versions.indices.last else {
      self.arePlain = []
      return
    }
    arePlain[last] = true
    var kept = Kept()
    for position in versions.indices.reversed().dropFirst() {
      guard let step = inferred.mapping(from: position, to: position + 1), step.attributeWithoutValue == nil else {
        break
      }
      kept = kept.before(step)
      guard position + 1 < last, let direct = inferred.mapping(from: position, to: last),
        direct.attributeWithoutValue == nil
      else {
        arePlain[position] = true
        continue
      }
      arePlain[position] = kept.hasAll(of: direct)
    }
    self.arePlain = arePlain
  }

  /// What a path keeps, by the names of the version at which it begins.
  private struct Kept {
    /// The properties of each entity; nil for everything.
    private var properties: [String: Set<String>]?

    /// What is kept if another step comes before.
    func before(_ step: InferredMapping) -> Kept {
      var result: [String: Set<String>] = [:]
      for match in step.matched {
        let own = match.attributes + match.relationships
        guard let properties else {
          result[match.source] = Set(own.map(\.source))
          continue
        }
        guard let left = properties[match.destination] else { continue }
        result[match.source] = Set(own.lazy.filter { left.contains($0.destination) }.map(\.source))
      }
      var kept = Kept()
      kept.properties = result
      return kept
    }

    /// Whether everything is kept that a mapping from the same version keeps.
    func hasAll(of direct: InferredMapping) -> Bool {
      guard let properties else { return true }
      return direct.matched.allSatisfy { match in
        guard let left = properties[match.source] else { return false }
        return (match.attributes + match.relationships).allSatisfy { left.contains($0.source) }
      }
    }
  }
}
