// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An attribute that groups others.
open class NSCompositeAttributeDescription: NSAttributeDescription, @unchecked Sendable {
  private var members: [NSAttributeDescription] = []

  /// The name of the composite type; known to model sources only.
  internal var compositeName: String? { willSet { willEdit() } }

  /// Makes a composite attribute without elements.
  public required init() {
    super.init()
    type = .composite
  }

  /// The attributes that are grouped, composite ones among them. Traps when given a relationship or another property,
  /// or an element that belongs elsewhere already.
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

  internal override func adopt(_ source: NSPropertyDescription) {
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
