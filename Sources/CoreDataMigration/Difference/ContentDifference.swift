// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates

/// One place in which two trees of named values differ.
package struct ContentDifference: Hashable, Sendable {
  /// The names that lead to the place, such as `attributes`, `text`, `isOptional`.
  package let path: [String]
  /// The value in the first tree; nil where it has nothing there.
  package let first: String?
  /// The value in the second tree; nil where it has nothing there.
  package let second: String?

  /// The difference as words.
  package var words: String {
    "\(path.joined(separator: ".")) is \(first ?? "absent") in one, \(second ?? "absent") in the other"
  }

  /// All differences, in the order of names.
  package static func between(_ first: ContentTree, _ second: ContentTree) -> [ContentDifference] {
    between(first, second, at: [])
  }

  private static func between(_ first: ContentTree, _ second: ContentTree, at path: [String]) -> [ContentDifference] {
    guard case .names(let left) = first, case .names(let right) = second else {
      return first == second ? [] : [ContentDifference(path: path, first: first.text, second: second.text)]
    }
    return Set(left.keys).union(right.keys).sorted().flatMap { name -> [ContentDifference] in
      let inner = path + [name]
      guard let one = left[name], let other = right[name] else {
        return [ContentDifference(path: inner, first: left[name]?.text, second: right[name]?.text)]
      }
      return between(one, other, at: inner)
    }
  }
}

/// Named values, or parts with named values of their own: what of a model is compared, at a chosen depth.
package indirect enum ContentTree: Hashable {
  case value(String)
  case names([String: ContentTree])

  fileprivate var text: String {
    switch self {
    case .value(let text): text
    case .names: "present"
    }
  }

  // MARK: Everything

  /// Everything in a document, down to single values. Elements of lists that have a name are found by it, in whatever order.
  package init(everythingIn value: Any) {
    let mirror = Mirror(reflecting: value)
    let children: [(String, Any)]
    switch mirror.displayStyle {
    case .struct: children = mirror.children.compactMap { child in child.label.map { ($0, child.value) } }
    case .collection:
      children = mirror.children.compactMap { child in Self.name(of: child.value).map { ($0, child.value) } }
    default: children = []
    }
    let names = Dictionary(children) { first, _ in first }
    let isComplete = mirror.displayStyle == .collection ? names.count == mirror.children.count : !names.isEmpty
    self = isComplete ? .names(names.mapValues(ContentTree.init(everythingIn:))) : .value(Self.text(value))
  }

  private static func name(of value: Any) -> String? {
    Mirror(reflecting: value).children.first { $0.label == "name" }?.value as? String
  }

  private static func text(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { text($0.value) } ?? "none" }
    if mirror.displayStyle == .dictionary {
      // The order of a dictionary changes from one to the next.
      let pairs = mirror.children.map { pair in Mirror(reflecting: pair.value).children.map { text($0.value) } }
      return "[" + pairs.map { $0.joined(separator: ": ") }.sorted().joined(separator: ", ") + "]"
    }
    return String(describing: value)
  }

  // MARK: What goes into version hashes

  /// What goes into the version hash of an entity: its own aspects under the empty name, and those of every persistent
  /// property under the property's name.
  package init(hashedIn entity: EntityDocument) {
    let constraints = entity.uniquenessConstraints.map { $0.joined(separator: ", ") }.sorted()
    var parts = [
      "": Self.aspects([
        "isAbstract": "\(entity.isAbstract)", "superentity": entity.parentName,
        "versionHashModifier": entity.versionHashModifier,
        "uniquenessConstraints": constraints.isEmpty ? nil : constraints.joined(separator: "; "),
      ])
    ]
    for attribute in entity.attributes where !attribute.isTransient {
      parts[attribute.name] = Self.aspects(Self.hashedAspects(of: attribute))
    }
    for relationship in entity.relationships where !relationship.isTransient {
      parts[relationship.name] = Self.aspects([
        "type": "Relationship", "isOptional": "\(relationship.isOptional)",
        "destination": relationship.destinationEntityName, "inverse": relationship.inverseName,
        "minCount": "\(relationship.minCount)",
        "maxCount": relationship.maxCount == 0 ? "unlimited" : "\(relationship.maxCount)",
        "isOrdered": "\(relationship.isOrdered)", "versionHashModifier": relationship.versionHashModifier,
      ])
    }
    self = .names(parts)
  }

  private static func aspects(_ aspects: [String: String?]) -> ContentTree {
    .names(aspects.compactMapValues { $0.map(ContentTree.value) })
  }

  private static func hashedAspects(of attribute: AttributeDocument) -> [String: String?] {
    if let derivation = attribute.derivation { return ["derivation": PredicatePrinter.derivationFormat(derivation)] }
    var aspects: [String: String?] = ["type": attribute.kind.title]
    if attribute.kind == .composite {
      for element in attribute.elements {
        for (name, value) in hashedAspects(of: element) { aspects["\(element.name).\(name)"] = value }
      }
      return aspects
    }
    let isFlagged = attribute.allowsExternalBinaryDataStorage || attribute.preservesValueInHistoryOnDeletion
    aspects["isOptional"] = "\(attribute.isOptional)"
    aspects["versionHashModifier"] = attribute.versionHashModifier
    aspects["external storage or preservation in history"] = "\(isFlagged)"
    return aspects
  }
}
