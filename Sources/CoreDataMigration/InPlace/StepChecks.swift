// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import CoreDataStoreFiles

/// Finds rows that prevent a step.
package struct StepChecks {
  package let step: InPlaceStep
  package let database: any SQLDatabase

  /// Checks the values of attributes.
  ///
  /// - Throws: `InPlaceProblem` if rows have no value for a required attribute, or a number that does not fit the new
  ///   type.
  package func values() throws {
    try requiredValues()
    try NumberRanges(step: step, connection: database).check()
  }

  /// Checks that no entity with objects becomes abstract or leaves the configuration.
  ///
  /// - Parameter count: Returns the number of rows of a source entity, or nil if it is unknown.
  /// - Throws: `InPlaceProblem`.
  package func entities(_ count: (EntityLayout) throws -> Int?) throws {
    try abstractEntities(count)
    try configuration(count)
  }

  /// Throws an error if rows have no value for an attribute that the step makes required and that has no default value.
  private func requiredValues() throws {
    for destination in step.destinationSchema.entities {
      guard let sourceName = step.mapping.sourceEntity(of: destination.name),
        let source = step.sourceSchema[sourceName]
      else { continue }
      for (name, layout) in destination.attributes.sorted(by: { $0.key < $1.key }) where layout.column != nil {
        guard let wanted = step.destination.attribute(name, of: destination.name), !wanted.isOptional,
          wanted.defaultValue == nil, wanted.derivation == nil
        else { continue }
        var isNull: String?
        if let oldName = step.mapping.sourceAttribute(of: name, in: destination.name) {
          guard step.source.attribute(oldName, of: sourceName)?.isOptional == true,
            let column = source.attributes[oldName]?.column
          else { continue }
          isNull = "\(SQLName.quoted(column)) IS NULL"
        }
        let condition = InPlaceStep.whereClause(step.condition(source), isNull)
        if try database.scalar("SELECT 1 FROM \(SQLName.quoted(source.table))\(condition) LIMIT 1") != nil {
          let counts = try database.rows(
            "SELECT count(*), min(Z_PK) FROM \(SQLName.quoted(source.table))\(condition)")[0].values
          let isOne = counts[0] == .integer(1)
          throw InPlaceProblem(
            kind: .missingValues, entity: destination.name, property: name,
            reason: isOne
              ? "\(sourceName)/p\(counts[1].shortLiteral) is"
              : "\(counts[0].shortLiteral) rows, the first of them \(sourceName)/p\(counts[1].shortLiteral), are",
            suggestion: "Give the attribute a default value.")
        }
      }
    }
  }

  /// Throws an error if the store has rows of an entity that becomes abstract, which could not be read afterwards.
  private func abstractEntities(_ count: (EntityLayout) throws -> Int?) throws {
    for entity in step.destinationSchema.entities where entity.isAbstract {
      guard let source = step.mapping.sourceEntity(of: entity.name).flatMap({ step.sourceSchema[$0] }),
        let count = try count(source), count > 0
      else { continue }
      throw InPlaceProblem(
        entity: entity.name,
        reason: "'\(entity.name)' is abstract in the destination, but the store has \(count) of its objects.",
        suggestion:
          "Delete the objects first, leave the entity as it was, or write a mapping model that turns them into "
          + "objects of another entity.")
    }
  }

  /// Throws an error if the store has objects of an entity that leaves its configuration, which would be dropped.
  private func configuration(_ count: (EntityLayout) throws -> Int?) throws {
    for entity in step.sourceSchema.entities {
      guard let name = step.mapping.destinationEntity(of: entity.name), step.destinationSchema[name] == nil,
        let count = try count(entity), count > 0
      else { continue }
      throw InPlaceProblem(
        entity: name,
        reason:
          "'\(name)' no longer belongs to the store's configuration, but the store has \(count) of its objects.",
        suggestion: "Leave the entity in the configuration, or delete its objects first.")
    }
  }

  /// Returns a problem that names duplicate values under a uniqueness constraint of the destination, or nil if there
  /// are none.
  package func duplicates() throws -> InPlaceProblem? {
    try DuplicateValues.first(in: step.destinationSchema, on: database).map {
      InPlaceProblem(
        kind: .notUnique(properties: $0.properties), entity: $0.entity, reason: $0.summary,
        suggestion: "Remove the duplicates first.")
    }
  }

  /// Returns the problem in the rows that made a statement fail, or nil if there is none.
  func problem(_ check: StatementCheck, _ shifts: KeyShifts) throws -> InPlaceProblem? {
    switch check {
    case .duplicates: try duplicates()
    case .link(let link): try LinkProblem(check: link, step: step, shifts: shifts, connection: database).problem()
    }
  }
}

/// A problem in the rows that makes a statement fail.
package enum StatementCheck: Hashable, Sendable {
  /// Equal values under a uniqueness constraint.
  case duplicates
  /// Objects with more than one object for a to-one relationship.
  case link(LinkCheck)
}
