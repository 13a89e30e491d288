// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Why a model and a store's tables do not fit together.
package enum SchemaProblem: Error, Hashable, Sendable {
  case unknownConfiguration(String, known: [String])
  case unknownEntity(String, configuration: String)
  case missingParent(entity: String, parent: String)
  case inheritanceCycle(entity: String)
  case missingDestination(entity: String, relationship: String, destination: String?)
  /// The inverse of a relationship is the inverse of another relationship.
  case inverseOfAnother(entity: String, relationship: String, inverse: String)
  case unstorableAttribute(entity: String, attribute: String, kind: String)
  /// The store's `Z_PRIMARYKEY` has no row for an entity of the model.
  case entityNotInStore(entity: String)
  /// The store's `Z_PRIMARYKEY` gives an entity a number that is out of range.
  case unusableNumber(entity: String, number: Int)
  case tableNotInStore(entity: String, table: String)
  /// The rows of a table need not have different keys, or numbers as keys.
  case keyNotPrimary(entity: String, table: String)
  case columnNotInStore(entity: String, property: String, table: String, column: String)
  case joinTableNotInStore(entity: String, relationship: String, table: String)
  /// The store's table has what Core Data gives no table, and what could remove or compute rows.
  case foreignTable(String, found: String)
}

extension SchemaProblem {
  /// Whether the model has something that the store does not have.
  package var isMissing: Bool {
    switch self {
    case .entityNotInStore, .tableNotInStore, .columnNotInStore, .joinTableNotInStore: true
    default: false
    }
  }
}

extension SchemaProblem: CustomStringConvertible {
  package var description: String {
    switch self {
    case .unknownConfiguration(let name, let known):
      "The model has no configuration “\(name)”; it has \(known.isEmpty ? "none" : known.joined(separator: ", "))."
    case .unknownEntity(let name, let configuration):
      "The configuration “\(configuration)” names the entity “\(name)”, which the model does not have."
    case .missingParent(let entity, let parent):
      "The entity “\(entity)” inherits from “\(parent)”, which the model does not have."
    case .inheritanceCycle(let entity):
      "The entity “\(entity)” inherits from itself, through its parents."
    case .missingDestination(let entity, let relationship, nil):
      "The relationship “\(relationship)” of “\(entity)” has no destination entity."
    case .missingDestination(let entity, let relationship, let destination?):
      "The relationship “\(relationship)” of “\(entity)” leads to “\(destination)”, which the model does not have."
    case .inverseOfAnother(let entity, let relationship, let inverse):
      "The relationship “\(relationship)” of “\(entity)” has the inverse “\(inverse)”, which is the inverse of another "
        + "relationship."
    case .unstorableAttribute(let entity, let attribute, let kind):
      "The attribute “\(attribute)” of “\(entity)” is of type \(kind), which a SQLite store cannot hold; make it transient "
        + "or give it another type."
    case .entityNotInStore(let entity):
      "The store has no entity “\(entity)”: its table Z_PRIMARYKEY does not list it."
    case .unusableNumber(let entity, let number):
      "The store's table Z_PRIMARYKEY gives the entity “\(entity)” the number \(number); it must be from 1 to "
        + "\(PrimaryKeyRow.greatestNumber)."
    case .keyNotPrimary(let entity, let table):
      "The store's table \(table), which holds the entity “\(entity)”, does not have Z_PK as its INTEGER PRIMARY KEY, so that "
        + "its rows cannot be told apart."
    case .tableNotInStore(let entity, let table):
      "The store has no table \(table), which the entity “\(entity)” needs."
    case .columnNotInStore(let entity, let property, let table, let column):
      "The store's table \(table) has no column \(column), which the property “\(property)” of “\(entity)” needs."
    case .joinTableNotInStore(let entity, let relationship, let table):
      "The store has no join table \(table) or the like, which the relationship “\(relationship)” of “\(entity)” needs."
    case .foreignTable(let table, let found):
      "The store's table \(table) is not one that Core Data makes: \(found)."
    }
  }
}
