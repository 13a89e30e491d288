// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataSQLite
import CoreDataStoreFiles

/// What a key path from an object leads to.
enum SourcePath {
  /// The value of an attribute, or of an element of a composite one, that has a column.
  case column(BoundSQL, AttributeLayout, NSAttributeDescription)
  /// A composite attribute of the row with that alias.
  case composite(AttributeLayout, NSAttributeDescription, alias: String)
  /// Objects.
  case relationship
  /// Something without stored value, as a transient attribute.
  case nothing
  /// Something that depends on the object found there, as a property of a sub-entity, or an operator.
  case other

  /// Follows a key path, and joins the rows on the way to the scope.
  ///
  /// - Throws: `SQLObstacle` for a key that the entity does not have.
  init(_ path: String, of start: NSEntityDescription, scope: SQLScope, in store: MappedStore) throws {
    var (alias, layout, entity) = (scope.alias, scope.entity, start)
    let names = path.split(separator: ".").map(String.init)
    for (position, name) in names.enumerated() {
      let rest = names[(position + 1)...]
      if let attribute = layout.attributes[name], let description = entity.attributesByName[name] {
        self = Self.attribute(attribute, description, rest, alias)
        return
      }
      guard let relationship = layout.relationships[name], let far = store.schema[relationship.destinationEntity],
        let farEntity = store.description(of: far)
      else {
        if position == 0, !name.hasPrefix("@"), entity.propertiesByName[name] == nil,
          !["self", "SELF", "objectID", "entity"].contains(name)
        {
          throw SQLObstacle("asks for '\(name)', which '\(entity.name ?? "")' does not have")
        }
        self = entity.attributesByName[name]?.isTransient == true && rest.isEmpty ? .nothing : .other
        return
      }
      guard case .foreignKey(let key) = relationship.place, !relationship.isToMany else {
        self = rest.isEmpty ? .relationship : .other
        return
      }
      if rest.isEmpty {
        self = .relationship
        return
      }
      alias = scope.join(key, of: alias, to: far)
      (layout, entity) = (far, farEntity)
    }
    self = .other
  }

  private static func attribute(
    _ layout: AttributeLayout, _ description: NSAttributeDescription, _ rest: ArraySlice<String>, _ alias: String
  ) -> SourcePath {
    if let name = rest.first {
      guard let element = layout.elements.first(where: { $0.name == name }),
        let inner = (description as? NSCompositeAttributeDescription)?.elements.first(where: { $0.name == name })
      else { return .other }
      return attribute(element, inner, rest.dropFirst(), alias)
    }
    guard let column = layout.column else { return .composite(layout, description, alias: alias) }
    return .column(BoundSQL("\(raw: alias).\(raw: SQLName.quoted(column))"), layout, description)
  }
}
