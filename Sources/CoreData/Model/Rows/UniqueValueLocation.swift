// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The location of a value under a uniqueness constraint: a slot, or an element of a composite attribute in it.
package struct UniqueValueLocation {
  package let path: String
  package let position: Int
  private let elements: [NSAttributeDescription]

  /// Returns the locations for a constraint; nil if the entity lacks one. A composite attribute includes all of its
  /// elements.
  package static func locations(of constraint: [String], in table: SlotTable) -> [UniqueValueLocation]? {
    let found = constraint.map { name -> [UniqueValueLocation] in
      let names = name.split(separator: ".").map(String.init)
      guard let first = names.first, let position = table.position(of: first) else { return [] }
      var elements: [NSAttributeDescription] = []
      var attribute = table.attribute(at: position)
      for name in names.dropFirst() {
        guard let element = (attribute as? NSCompositeAttributeDescription)?.element(name) else { return [] }
        elements.append(element)
        attribute = element
      }
      return expanded(UniqueValueLocation(path: name, position: position, elements: elements), attribute)
    }
    return found.contains { $0.isEmpty } ? nil : found.flatMap { $0 }
  }

  private static func expanded(
    _ location: UniqueValueLocation, _ attribute: NSAttributeDescription?
  ) -> [UniqueValueLocation] {
    guard let composite = attribute as? NSCompositeAttributeDescription else { return [location] }
    return composite.elements.flatMap { element in
      expanded(
        UniqueValueLocation(
          path: "\(location.path).\(element.name)", position: location.position, elements: location.elements + [element]
        ),
        element)
    }
  }

  /// Returns the value, given that of the slot.
  package func value(in slot: Slot) -> Slot {
    var slot = slot
    for element in elements {
      guard case .object(let values as NSDictionary) = slot else { return .null }
      slot = Slot(values[element.name as NSString], for: element) ?? .null
    }
    return slot
  }
}

extension NSManagedObjectModel {
  /// Throws 134060 for a uniqueness constraint on a property that the entity does not have.
  package func checkUniquenessConstraints() throws {
    for entity in entities {
      for name in NSEntityDescription.names(in: entity.uniquenessConstraints).joined()
      where UniqueValueLocation.locations(of: [name], in: entity.slotTable) == nil {
        throw ModelErrors.unknownUniqueProperty(
          name, entity: entity.name ?? "", known: Array(entity.propertiesByName.keys))
      }
    }
  }
}
