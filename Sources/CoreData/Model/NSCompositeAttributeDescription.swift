// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An attribute composed of other attributes.
open class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  private var members: [NSAttributeDescription] = []

  /// The name of the composite type; only in model sources.
  var compositeName: String? { willSet { willEdit() } }

  /// Makes a composite attribute without elements.
  public required init() {
    super.init()
    type = .composite
  }

  /// The attributes that the composite attribute consists of, which may be composite too. Setting traps for an element
  /// that already belongs elsewhere.
  open var elements: [NSAttributeDescription] {
    get { members }
    set {
      willEdit()
      for element in newValue {
        precondition(
          element.owningEntity == nil && (element.owningComposite == nil || element.owningComposite === self),
          "'\(element.name)' belongs to another entity or composite attribute: add a copy of it.")
      }
      for element in members { element.owningComposite = nil }
      members = newValue
      for element in members { element.owningComposite = self }
    }
  }

  override func adopt(_ source: NSPropertyDescription) {
    super.adopt(source)
    guard let source = source as? NSCompositeAttributeDescription else { return }
    compositeName = source.compositeName
    elements = source.elements.map { element in
      let copy = Swift.type(of: element).init()
      copy.adopt(element)
      return copy
    }
  }
}
