// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The location of a value under a uniqueness constraint: a slot, or an element of a composite attribute in it.
package struct UniqueValuePlace {
  package let path: String
  package let position: Int
  private let elements: [NSAttributeDescription]

  /// Returns the locations for a constraint; nil if the entity lacks one. A composite attribute includes all of its
  /// elements.
  package static func places(of constraint: [String], in table: SlotTable) -> [UniqueValuePlace]? {
    let found = constraint.map { name -> [UniqueValuePlace] in
      let names = name.split(separator: ".").map(String.init)
      guard let first = names.first, let position = table.position(of: first) else { return [] }
      var elements: [NSAttributeDescription] = []
      var attribute = table.attribute(at: position)
      for name in names.dropFirst() {
        guard let element = (attribute as? NSCompositeAttributeDescription)?.element(name) else { return [] }
        elements.append(element)
        attribute = element
      }
      return expanded(UniqueValuePlace(path: name, position: position, elements: elements), attribute)
    }
    return found.contains { $0.isEmpty } ? nil : found.flatMap { $0 }
  }

  private static func expanded(
    _ place: UniqueValuePlace, _ attribute: NSAttributeDescription?
  ) -> [UniqueValuePlace] {
    guard let composite = attribute as? NSCompositeAttributeDescription else { return [place] }
    return composite.elements.flatMap { element in
      expanded(
        UniqueValuePlace(
          path: "\(place.path).\(element.name)", position: place.position, elements: place.elements + [element]),
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
      where UniqueValuePlace.places(of: [name], in: entity.slotTable) == nil {
        throw ModelErrors.unknownUniqueProperty(
          name, entity: entity.name ?? "", known: Array(entity.propertiesByName.keys))
      }
    }
  }
}
