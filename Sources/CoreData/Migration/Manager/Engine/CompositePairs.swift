// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import Foundation

/// The elements of a destination's composite attribute, paired with the corresponding elements of the source.
struct CompositePairs {
  private let destination: [NSAttributeDescription]
  private let sources: [String: NSAttributeDescription]

  init(from source: NSAttributeDescription, to destination: NSAttributeDescription) {
    self.destination = (destination as? NSCompositeAttributeDescription)?.elements ?? []
    let pairs = Pairing(
      (source as? NSCompositeAttributeDescription)?.elements ?? [], self.destination, name: \.name,
      declared: \.declaredRenamingIdentifier)
    sources = Dictionary(pairs.matched.map { ($0.destination.name, $0.source) }) { first, _ in first }
  }

  /// Returns the source's element for an element of the destination; nil for a new one.
  func source(of element: NSAttributeDescription) -> NSAttributeDescription? { sources[element.name] }

  /// Returns the dictionary of the source with the elements of the destination. New ones have their default values.
  ///
  /// - Parameter keepsDefaults: whether required elements keep their default values if the source has no value.
  func converted(_ values: NSDictionary, keepsDefaults: Bool) -> NSDictionary {
    let result = NSMutableDictionary()
    for element in destination {
      guard let old = source(of: element) else {
        result[element.name as NSString] = element.initialValue
        continue
      }
      var value = values[old.name as NSString]
      if element is NSCompositeAttributeDescription, old is NSCompositeAttributeDescription {
        value = CompositePairs(from: old, to: element).converted(
          value as? NSDictionary ?? [:], keepsDefaults: keepsDefaults)
      }
      if value == nil, keepsDefaults, !element.isOptional { value = element.defaultValue }
      result[element.name as NSString] = value
    }
    return result
  }
}
