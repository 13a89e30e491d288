// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Where an entity's properties stand in its objects' slots.
///
/// Attributes come first, then relationships, each sorted by name, inherited ones included. Fetched properties have no
/// slot: they are requests, carried out anew at each access.
final class SlotTable: EntityTable, @unchecked Sendable {
  /// What stands in one slot.
  enum Property {
    case attribute(NSAttributeDescription)
    case relationship(NSRelationshipDescription)
  }

  let properties: [Property]
  let names: [String]
  /// The relationships' slots are the last ones, beginning here.
  let firstRelationship: Int
  /// The slots of a new object.
  let defaults: [Slot]
  /// What kind of value each attribute holds; undefined for relationships.
  let kinds: [NSAttributeType]
  /// The slots that no store keeps.
  private let transient: [Bool]
  /// The values that such slots have in an object that is fetched: their defaults, where there are any.
  let transientDefaults: [(position: Int, value: Slot)]
  /// The slots whose values the model restricts.
  let restricted: [Int]
  /// The slots of whole numbers of less than 64 bits.
  let ranged: [Int]
  private let positions: NameTable

  init(_ entity: NSEntityDescription) {
    let attributes = entity.attributesByName.sorted { $0.key < $1.key }
    let relationships = entity.relationshipsByName.sorted { $0.key < $1.key }
    names = attributes.map(\.key) + relationships.map(\.key)
    properties = attributes.map { .attribute($0.value) } + relationships.map { .relationship($0.value) }
    firstRelationship = attributes.count
    positions = NameTable(names)
    kinds = attributes.map(\.value.attributeType) + relationships.map { _ in .undefinedAttributeType }
    transient = attributes.map(\.value.isTransient) + relationships.map(\.value.isTransient)
    restricted =
      attributes.indices.filter { attributes[$0].value.restrictsValues }
      + relationships.indices.filter { relationships[$0].value.restrictsMembers }
      .map { $0 + attributes.count }
    ranged = attributes.indices.filter { attributes[$0].value.attributeType.hasRange }
    let defaults: [Slot] =
      attributes.map { Slot(defaultOf: $0.value) }
      + relationships.map { $0.value.isToMany ? .toMany(ToMany(isOrdered: $0.value.isOrdered)) : .null }
    self.defaults = defaults
    transientDefaults = attributes.indices.filter { attributes[$0].value.isTransient && !defaults[$0].isNull }
      .map { ($0, defaults[$0]) }
  }

  var count: Int { properties.count }

  /// The slot of a property; nil when the entity has no such attribute or relationship.
  func position(of name: String) -> Int? {
    positions.position(of: name)
  }

  func isTransient(at position: Int) -> Bool {
    transient[position]
  }

  func attribute(at position: Int) -> NSAttributeDescription? {
    if case .attribute(let attribute) = properties[position] { return attribute }
    return nil
  }

  func relationship(at position: Int) -> NSRelationshipDescription? {
    if case .relationship(let relationship) = properties[position] { return relationship }
    return nil
  }
}

extension NSEntityDescription {
  /// Where the properties stand in objects of this entity.
  var slotTable: SlotTable {
    // Nothing else is kept there, and every access to a property asks for it.
    unsafeDowncast(slotTableState.value { SlotTable(self) }, to: SlotTable.self)
  }
}

extension NSAttributeDescription {
  /// Whether there are values of its type that the attribute refuses.
  fileprivate var restrictsValues: Bool {
    !isOptional || !validations.isEmpty || self is NSCompositeAttributeDescription
  }
}

extension NSRelationshipDescription {
  /// Whether there are numbers of objects that the relationship refuses.
  fileprivate var restrictsMembers: Bool { !isOptional || (isToMany && (minCount > 0 || maxCount > 0)) }
}
