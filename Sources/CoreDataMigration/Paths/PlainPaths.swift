// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The versions from which the path to the last version consists of inferred steps through all versions in between.
///
/// Yields the same result as a `PathSearch` from each version without mapping models, but in time proportional to the
/// number of versions: what the steps from a version keep is computed from what the steps from the next one keep.
package struct PlainPaths {
  /// For each version, whether its path goes through all later versions.
  package let arePlain: [Bool]

  /// Determines the versions.
  ///
  /// - Parameters:
  ///   - versions: The versions in order; no two have the same hashes.
  ///   - mappings: The known mappings.
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

  /// The entities and properties that a path keeps, by their names in its first version.
  private struct Kept {
    /// The properties of each entity; nil if everything is kept.
    private var properties: [String: Set<String>]?

    /// Returns what the path keeps with another step before it.
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

    /// Returns whether the path keeps everything that a mapping from the same version keeps.
    func hasAll(of direct: InferredMapping) -> Bool {
      guard let properties else { return true }
      return direct.matched.allSatisfy { match in
        guard let left = properties[match.source] else { return false }
        return (match.attributes + match.relationships).allSatisfy { left.contains($0.source) }
      }
    }
  }
}
