// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// Updates a set of rows.
struct BatchUpdate {
  /// The new value of a property.
  enum Value {
    case constant(Slot)
    case expression(ExpressionSyntax)
    case object(NSManagedObjectID?)
  }

  private let run: BatchRun
  private let entity: NSEntityDescription
  private let layout: EntityLayout
  private let values: [(name: String, value: Value)]

  /// - Parameter properties: the new values, by names or descriptions of properties.
  /// - Throws: 134060 for a property that a batch request cannot update; 1550, 1570, 1610 or 1620 for a value that is not
  ///   valid.
  init(_ run: BatchRun, _ entity: NSEntityDescription, _ properties: [AnyHashable: Any]) throws {
    self.run = run
    self.entity = entity
    layout = try run.entities.layout(of: entity)
    let entityName = layout.name
    values = try properties.map { key, value -> (name: String, value: Value) in
      guard let name = key.base as? String ?? (key.base as? NSPropertyDescription)?.name else {
        throw BatchErrors.badRequest(
          "propertiesToUpdate contains the key \(key.base), which is neither a name nor a property description.",
          entity: entityName, suggestion: "Use names of attributes, or their descriptions.")
      }
      return (name, try Self.value(value, name, entity))
    }.sorted { $0.name < $1.name }
  }

  private static func value(_ given: Any, _ name: String, _ entity: NSEntityDescription) throws -> Value {
    let entityName = entity.name ?? ""
    switch entity.propertiesByName[name] {
    case let attribute as NSAttributeDescription where !attribute.isTransient:
      if attribute is NSDerivedAttributeDescription {
        throw BatchErrors.badRequest(
          "'\(name)' of '\(entityName)' is a derived attribute, which the store computes.", entity: entityName,
          property: name, suggestion: "Leave it out.")
      }
      var value: Any? = given
      if let expression = given as? NSExpression {
        guard case .constant(let constant) = expression.syntax else { return .expression(expression.syntax) }
        value = constant == .null ? nil : constant.foundationValue()
      }
      let slot = try Slot.checked(value, for: attribute, entity: entityName)
      if slot.isNull, !attribute.isOptional { throw BatchErrors.missingValue(name, of: entityName) }
      return .constant(slot)
    case let relationship as NSRelationshipDescription
    where !relationship.isTransient && !relationship.isToMany:
      return .object(try destination(given, relationship, entityName))
    case nil:
      throw BatchErrors.badRequest(
        "The entity '\(entityName)' has no property '\(name)'.", entity: entityName, property: name,
        suggestion: "Use one of: \(entity.propertiesByName.keys.sorted().joined(separator: ", ")).")
    default:
      throw BatchErrors.badRequest(
        "'\(name)' of '\(entityName)' cannot be updated by a batch request.", entity: entityName, property: name,
        suggestion: "Only stored attributes and to-one relationships can.")
    }
  }

  private static func destination(
    _ given: Any, _ relationship: NSRelationshipDescription, _ entity: String
  ) throws -> NSManagedObjectID? {
    var constant: Any? = given
    if let expression = given as? NSExpression {
      guard case .constant(let value) = expression.syntax else {
        throw BatchErrors.badRequest(
          "The value for the relationship '\(relationship.name)' of '\(entity)' is an expression.", entity: entity,
          property: relationship.name, suggestion: "Give an object, its identifier, or NSNull.")
      }
      constant = value == .null ? nil : value.foundationValue()
    }
    if constant == nil || constant is NSNull {
      if !relationship.isOptional { throw BatchErrors.missingValue(relationship.name, of: entity) }
      return nil
    }
    guard let id = (constant as? NSManagedObjectID ?? (constant as? any ObjectIdentified)?.objectID)?.current,
      let destination = relationship.destinationEntity, id.entity.isKindOf(entity: destination)
    else {
      throw BatchErrors.wrongType(
        constant, relationship.name, of: entity,
        expected: "an object of '\(relationship.destinationEntity?.name ?? "")' or its identifier")
    }
    if let inverse = relationship.inverseRelationship, !inverse.isToMany || inverse.isOrdered {
      throw BatchErrors.badRequest(
        "'\(relationship.name)' of '\(entity)' has the inverse '\(inverse.name)', which is "
          + "\(inverse.isToMany ? "ordered" : "to-one"): setting it for many objects would break it.", entity: entity,
        property: relationship.name, suggestion: "Set it to NSNull, or save the objects in a context.")
    }
    return id
  }

  /// Updates the rows and their derived values.
  func perform(_ rows: BatchRows) throws {
    let names = Set(values.map(\.name))
    // New values are computed from old ones, so compute all of them before changing the first row.
    let computed = try compute(rows)
    try checkMandatory(computed)
    try run.noteReplacedFiles(rows, properties: names)
    for case (let name, .object(let id)) in values { try updateOwners(name, to: id, of: rows) }
    var assignments: [BoundSQL] = []
    for (name, value) in values { assignments += try self.assignments(name, value, computed) }
    try run.assign(assignments, to: rows, in: layout)
    let derived = BatchDerivations(run)
    try derived.updateRows(rows, changed: names)
    try run.recordUpdates(of: names, rows)
    try derived.updateOthers(affected: layout)
  }

  /// Computes the values of expressions, and of large data, which need a separate file for each row.
  ///
  /// - Returns: the rows with the values, and the column of each property in them.
  private func compute(_ rows: BatchRows) throws -> (rows: BatchRows, columns: [String: Int]) {
    let varying = values.filter { value in
      switch value.value {
      case .expression: return true
      case .constant(.data(let data)):
        return run.external != nil && layout.attributes[value.name]?.allowsExternalStorage == true
          && data.count >= ExternalData.smallestFile
      default: return false
      }
    }
    if varying.isEmpty { return (rows, [:]) }
    let computed = try run.rows(values: varying.map { layout.attributes[$0.name]?.kind ?? .undefined })
    for entity in try rows.entityLayouts() { try computed.add(entity.number, from: rows) }
    var columns: [String: Int] = [:]
    for (position, (name, value)) in varying.enumerated() {
      guard let attribute = entity.attributesByName[name] else { continue }
      columns[name] = position
      let values = BatchValues(run: run, layout: layout, attribute: attribute)
      switch value {
      case .expression(let expression): try values.compute(expression, in: computed, position: position)
      case .constant(let slot):
        try computed.forEachKeys(root: layout.rootNumber) { keys in
          for key in keys { try values.set(slot, in: computed, position: position, key: key) }
        }
      case .object: continue
      }
    }
    return (computed, columns)
  }

  private func checkMandatory(_ computed: (rows: BatchRows, columns: [String: Int])) throws {
    for (name, position) in computed.columns where entity.attributesByName[name]?.isOptional == false {
      let missing = "SELECT 1 FROM \(computed.rows.table) WHERE V\(position) IS NULL LIMIT 1"
      if try run.database.scalar(missing) != nil { throw BatchErrors.missingValue(name, of: layout.name) }
    }
  }

  private func assignments(
    _ name: String, _ value: Value, _ computed: (rows: BatchRows, columns: [String: Int])
  ) throws -> [BoundSQL] {
    switch value {
    case .constant(let slot):
      guard let stored = layout.attributes[name] else { return [] }
      if let position = computed.columns[name] {
        return run.assignments(of: stored, position, computed.rows, layout)
      }
      if run.external != nil, case .object(let elements as NSDictionary) = slot, Self.needsFile(elements, stored) {
        throw BatchErrors.badRequest(
          "The value for '\(name)' of '\(layout.name)' has an element of \(ExternalData.smallestFile) bytes or more, "
            + "which needs a file for each object.", entity: layout.name, property: name,
          suggestion: "Set the value of the objects, and save the context.")
      }
      let values = try run.values.columns(
        of: slot, stored, description: entity.attributesByName[name], in: layout, row: 0)
      return values.map(\.assignment)
    case .expression:
      guard let stored = layout.attributes[name], let position = computed.columns[name] else { return [] }
      return run.assignments(of: stored, position, computed.rows, layout)
    case .object(let id): return try assignments(name, id)
    }
  }

  /// Returns whether an element of a composite attribute would be stored in a file, of which each row needs its own.
  private static func needsFile(_ elements: NSDictionary, _ attribute: AttributeLayout) -> Bool {
    attribute.elements.contains { element in
      switch elements[element.name as NSString] {
      case let data as Data: element.allowsExternalStorage && data.count >= ExternalData.smallestFile
      case let elements as NSDictionary: needsFile(elements, element)
      default: false
      }
    }
  }

  /// Gives the objects that the rows leave or join through a relationship a new version, as a save does: a context that
  /// knows the old version then finds a conflict, where it would delete the object and leave references to it. The other
  /// side of a one-to-one relationship is cleared.
  private func updateOwners(_ name: String, to id: NSManagedObjectID?, of rows: BatchRows) throws {
    guard let relationship = entity.relationshipsByName[name], let inverse = relationship.inverseRelationship,
      case .foreignKey(let key)? = layout.relationships[name]?.storage,
      let destination = run.entities.schema[relationship.destinationEntity?.name ?? ""]
    else { return }
    let changed: BoundSQL = """
      FROM \(column: layout.table) WHERE \(raw: rows.contains("Z_PK", root: layout.rootNumber)) \
      AND \(column: key.column) \(raw: run.database.dialect.isDifferent) \(value: Self.key(id))
      """
    let owners = try run.rows()
    try owners.add(
      """
      SELECT \(raw: "\(destination.rootNumber)"), Z_PK, Z_ENT FROM \(column: destination.table) \
      WHERE Z_PK IN (SELECT \(column: key.column) \(changed)) \
      OR Z_PK = \(value: Self.key(id)) AND EXISTS (SELECT 1 \(changed))
      """,
      like: destination)
    var cleared: [BoundSQL] = []
    if case .foreignKey(let key)? = destination.relationships[inverse.name]?.storage {
      if !inverse.isOptional, try owners.count() > 0 {
        throw BatchErrors.missingValue(inverse.name, of: destination.name)
      }
      cleared = [key.column, key.entityColumn].compactMap { $0 }.map { "\(column: $0) = NULL" }
    }
    try run.assign(cleared, to: owners, in: destination)
    try run.recordUpdates(of: [inverse.name], owners)
  }

  private static func key(_ id: NSManagedObjectID?) -> SQLiteValue { id.map { .integer($0.key.number) } ?? .null }

  private func assignments(_ name: String, _ id: NSManagedObjectID?) throws -> [BoundSQL] {
    guard let relationship = layout.relationships[name], case .foreignKey(let key) = relationship.storage else {
      return []
    }
    if let id, !run.entities.owns(id) {
      throw BatchErrors.badRequest(
        "The object for '\(name)' of '\(layout.name)' is not in the store.", entity: layout.name, property: name,
        suggestion: "Use an object that has been saved in the same store.")
    }
    if let id, try !run.hasRow(id) {
      throw BatchErrors.badRequest(
        "The object for '\(name)' of '\(layout.name)' has been deleted.", entity: layout.name, property: name,
        suggestion: "Fetch the object again, or use another one.")
    }
    var list: [BoundSQL] = ["\(column: key.column) = \(value: Self.key(id))"]
    if let column = key.entityColumn {
      let number = try id.map { SQLiteValue.integer(Int64(try run.entities.layout(of: $0.entity).number)) }
      list.append("\(column: column) = \(value: number ?? .null)")
    }
    if let column = key.orderColumn { list.append("\(column: column) = NULL") }
    return list
  }
}

extension BatchRun {
  /// Returns assignments that set an attribute's columns to the computed value of each row.
  func assignments(
    of attribute: AttributeLayout, _ position: Int, _ rows: BatchRows, _ layout: EntityLayout
  ) -> [BoundSQL] {
    func assignment(_ column: String, _ value: String) -> BoundSQL {
      """
      \(column: column) = (SELECT \(raw: value) FROM \(raw: rows.table) b \
      WHERE b.ROOT = \(raw: "\(layout.rootNumber)") AND b.Z_PK = \(column: layout.table).Z_PK)
      """
    }
    guard let column = attribute.column else { return [] }
    let value = "b.V\(position)"
    guard let remainder = attribute.remainderColumn else { return [assignment(column, value)] }
    return [
      assignment(column, StoredDate.timestamp(of: value)),
      assignment(remainder, StoredDate.remainder(of: value)),
    ]
  }

  /// Updates the rows of a set that are in the table of an entity.
  ///
  /// - Parameter isNewVersion: whether the rows' versions are incremented.
  func assign(
    _ assignments: [BoundSQL], to rows: BatchRows, in layout: EntityLayout, isNewVersion: Bool = true
  ) throws {
    var list = assignments
    if isNewVersion { list.append("Z_OPT = \(raw: RowVersion.following)") }
    guard !list.isEmpty else { return }
    let test = rows.contains("Z_PK", root: layout.rootNumber)
    let update: BoundSQL = "UPDATE \(column: layout.table) SET \(list.joined(", ")) WHERE \(raw: test)"
    try database.run(update.sql, update.values)
  }
}
