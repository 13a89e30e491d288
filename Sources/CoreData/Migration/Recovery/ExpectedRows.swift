// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataStoreFiles

/// How many rows a step by a mapping model has to make, where the mapping model alone decides that.
///
/// It does for an entity into which all objects of some source entities go. Where a policy has a hand in the migration
/// nothing is foreseen, since it makes what it likes.
struct ExpectedRows {
  /// The rows that there have to be, by entity.
  private let expected: [String: Int]

  /// - Parameter rows: those of the source, by entity, of sub-entities not counted along.
  init(_ mapping: NSMappingModel, from rows: [String: Int]) {
    let mappings = mapping.entityMappings ?? []
    guard mappings.allSatisfy({ ($0.entityMigrationPolicyClassName ?? "").isEmpty }) else {
      expected = [:]
      return
    }
    let byDestination = Dictionary(grouping: mappings.filter { $0.destinationEntityName != nil }) {
      $0.destinationEntityName ?? ""
    }
    expected = byDestination.compactMapValues { mappings in
      let counts = mappings.map { Self.takesAll($0) ? rows[$0.sourceEntityName ?? ""] : nil }
      return counts.reduce(0) { sum, count in sum.flatMap { sum in count.map { sum + $0 } } }
    }
  }

  /// Whether a mapping makes an object of each object of its source entity.
  private static func takesAll(_ mapping: NSEntityMapping) -> Bool {
    guard let source = mapping.sourceEntityName else { return false }
    switch mapping.mappingType {
    case .copyEntityMappingType, .transformEntityMappingType, .undefinedEntityMappingType:
      return mapping.sourceSyntax.map { $0 == MappingExpressions.sourceObjects(entity: source) } ?? true
    default: return false
    }
  }

  /// - Parameter found: the rows that there are, by entity.
  /// - Throws: `StoreVerification.Problem` for the first entity that has others.
  func check(_ found: [String: Int]) throws {
    for (entity, count) in expected.sorted(by: { $0.key < $1.key }) {
      guard let actual = found[entity], actual != count else { continue }
      throw StoreVerification.Problem(
        reason: "'\(entity)' should have \(count) rows, all that the mapping model takes there, and has \(actual).")
    }
  }
}
