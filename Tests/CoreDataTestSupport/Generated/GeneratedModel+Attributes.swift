// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// Changes of attributes, indexes and constraints.
extension GeneratedModel {
  private static let attributeNames = ["alpha", "beta", "gamma", "delta", "Alpha", "alpha1", "eta", "theta", "iota"]
  private static let kinds: [AttributeKind] = [
    .integer16, .integer32, .integer64, .boolean, .double, .float, .decimal, .string, .date, .binaryData, .uuid, .uri,
    .string, .integer32, .binaryData,
  ]
  static let numbers: [AttributeKind] = [.integer16, .integer32, .integer64, .boolean, .double, .float, .decimal]

  mutating func addAttribute() {
    guard let entity = document.entities.indices.randomElement(using: &random), let kind = random.pick(Self.kinds),
      let name = freeName(Self.attributeNames, around: document.entities[entity].name)
    else { return }
    var attribute = AttributeDocument(name: name, kind: kind, isOptional: !random.oneIn(3))
    if !attribute.isOptional || random.oneIn(4) { attribute.defaultValue = defaultValue(of: kind) }
    // A transient value is gone when its object is read again, so that a required one could not be saved a second time.
    attribute.isTransient = attribute.isOptional && random.oneIn(8)
    attribute.allowsExternalBinaryDataStorage = kind == .binaryData && random.oneIn(2)
    if attribute.isOptional, !attribute.isTransient, attribute.defaultValue == nil, random.oneIn(6) {
      derive(&attribute, entity)
    }
    document.entities[entity].attributes.append(attribute)
    note("add attribute \(document.entities[entity].name).\(name)")
  }

  /// Makes it the number of objects of a to-many relationship, or another attribute's text in small letters.
  private mutating func derive(_ attribute: inout AttributeDocument, _ entity: Int) {
    let toMany = document.entities[entity].relationships.filter { $0.isToMany && !$0.isTransient }.map(\.name)
    let texts = document.entities[entity].attributes.filter {
      $0.kind == .string && !$0.isTransient && $0.derivation == nil
    }.map(\.name)
    if random.oneIn(2), let name = random.pick(toMany) {
      attribute.kind = .integer64
      attribute.allowsExternalBinaryDataStorage = false
      attribute.derivation = .keyPath("\(name).@count")
    } else if let name = random.pick(texts) {
      attribute.kind = .string
      attribute.allowsExternalBinaryDataStorage = false
      attribute.derivation = .function(operand: nil, name: "lowercase:", arguments: [.keyPath(name)])
    }
  }

  /// What is derived from something that is not there any more, or is something else now, becomes an ordinary attribute.
  mutating func repairDerivations() {
    let index = index
    for entity in document.entities.indices {
      let lineage = index.lineage(of: document.entities[entity].name)
      for position in document.entities[entity].attributes.indices {
        let attribute = document.entities[entity].attributes[position]
        let isWhole = [.integer16, .integer32, .integer64].contains(attribute.kind)
        let fits =
          switch attribute.derivation {
          case .keyPath(let path)?:
            isWhole
              && lineage.flatMap(\.relationships).contains {
                "\($0.name).@count" == path && $0.isToMany && !$0.isTransient
              }
          case .function(_, _, let arguments)?:
            attribute.kind == .string
              && lineage.flatMap(\.attributes).contains {
                arguments == [.keyPath($0.name)] && $0.kind == .string && !$0.isTransient && $0.derivation == nil
              }
          default: false
          }
        if !fits || attribute.isTransient { document.entities[entity].attributes[position].derivation = nil }
      }
    }
  }

  func defaultValue(of kind: AttributeKind) -> PlainValue {
    switch kind {
    case .integer16, .integer32, .integer64: .integer(7)
    case .boolean: .boolean(true)
    case .double, .float: .real(1.5)
    case .decimal: .decimal(Decimal(string: "2.75") ?? 0)
    case .date: .date(Date(timeIntervalSinceReferenceDate: 86_400.5))
    case .binaryData: .data(Data([2, 0, 9]))
    case .uuid: .uuid(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0)))
    case .uri: .url(URL(fileURLWithPath: "/default"))
    default: .string("default")
    }
  }

  /// Some attribute: the positions of its entity and of itself.
  private mutating func somewhere(_ fits: (AttributeDocument) -> Bool = { _ in true }) -> (Int, Int)? {
    let places = document.entities.indices.flatMap { entity in
      document.entities[entity].attributes.indices.filter { fits(document.entities[entity].attributes[$0]) }
        .map { (entity, $0) }
    }
    return random.pick(places)
  }

  private mutating func change(
    _ words: String, where fits: (AttributeDocument) -> Bool = { _ in true }, _ body: (inout AttributeDocument) -> Void
  ) {
    guard let (entity, position) = somewhere(fits) else { return }
    body(&document.entities[entity].attributes[position])
    note("\(words) \(document.entities[entity].name).\(document.entities[entity].attributes[position].name)")
  }

  mutating func changeOptionality() {
    let value = defaultValue
    change("toggle whether optional:", where: { !$0.isTransient }) {
      $0.isOptional.toggle()
      if !$0.isOptional, $0.defaultValue == nil { $0.defaultValue = value($0.kind) }
    }
  }

  mutating func changeNumericKind() {
    let kind = random.pick(Self.numbers) ?? .double
    let value = defaultValue(of: kind)
    change("make it \(kind):", where: { Self.numbers.contains($0.kind) }) {
      $0.kind = kind
      if $0.defaultValue != nil { $0.defaultValue = value }
    }
  }

  mutating func changeTransience() {
    change("toggle whether transient:") {
      $0.isTransient.toggle()
      if $0.isTransient { $0.isOptional = true }
    }
  }

  mutating func changeExternalStorage() {
    change("toggle whether in files:", where: { $0.kind == .binaryData }) {
      $0.allowsExternalBinaryDataStorage.toggle()
    }
  }

  mutating func removeAttribute() {
    guard let (entity, position) = somewhere() else { return }
    let name = document.entities[entity].attributes[position].name
    note("remove attribute \(document.entities[entity].name).\(name)")
    document.entities[entity].attributes.remove(at: position)
    forget(name, in: document.entities[entity].name)
  }

  mutating func renameAttribute() {
    guard let (entity, position) = somewhere(),
      let name = freeName(Self.attributeNames, around: document.entities[entity].name)
    else { return }
    let old = document.entities[entity].attributes[position].name
    document.entities[entity].attributes[position].name = name
    forget(old, in: document.entities[entity].name)
    note("rename attribute \(document.entities[entity].name).\(old) to \(name)")
  }

  mutating func swapAttributeNames() {
    guard let (entity, one) = somewhere(),
      let other = document.entities[entity].attributes.indices.randomElement(using: &random), one != other
    else { return }
    let names = (document.entities[entity].attributes[one].name, document.entities[entity].attributes[other].name)
    document.entities[entity].attributes[one].name = names.1
    document.entities[entity].attributes[other].name = names.0
    note("swap the names of attributes \(document.entities[entity].name).\(names.0) and \(names.1)")
  }

  /// To the parent; siblings and descendants that have one of that name give theirs up.
  mutating func moveAttributeUp() {
    guard let (entity, position) = somewhere(), let parent = document.entities[entity].parentName,
      let target = self.position(of: parent)
    else { return }
    let attribute = document.entities[entity].attributes[position]
    let others = family(of: parent).map(\.name)
    guard
      !document.entities.contains(where: { other in
        others.contains(other.name) && other.relationships.contains { $0.name == attribute.name }
      }), attribute.isOptional || attribute.defaultValue != nil
    else { return }
    for name in others {
      guard let other = self.position(of: name) else { continue }
      document.entities[other].attributes.removeAll { $0.name == attribute.name }
    }
    document.entities[target].attributes.append(attribute)
    note("move attribute \(document.entities[entity].name).\(attribute.name) up to \(parent)")
  }

  /// To one of the children, or to all.
  mutating func moveAttributeDown() {
    guard let (entity, position) = somewhere() else { return }
    let attribute = document.entities[entity].attributes[position]
    let name = document.entities[entity].name
    let children = document.entities.filter { $0.parentName == name }.map(\.name)
    guard let child = random.pick(children) else { return }
    document.entities[entity].attributes.remove(at: position)
    forget(attribute.name, in: name)
    let targets = random.oneIn(2) ? [child] : children
    for target in targets { self.position(of: target).map { document.entities[$0].attributes.append(attribute) } }
    note("move attribute \(name).\(attribute.name) down to \(targets.joined(separator: ", "))")
  }

  // MARK: Indexes and constraints

  /// Takes a property out of indexes and constraints.
  func forgettable(_ entity: String) -> [String] { family(of: entity).map(\.name) }

  mutating func forget(_ property: String, in entity: String) {
    for name in forgettable(entity) {
      guard let position = position(of: name) else { continue }
      document.entities[position].uniquenessConstraints.removeAll { $0.contains(property) }
      document.entities[position].indexes.removeAll { $0.elements.contains { $0.propertyName == property } }
    }
  }

  mutating func changeConstraint() {
    guard
      let (entity, position) = somewhere({
        $0.kind == .string && !$0.isTransient && $0.isOptional && $0.defaultValue == nil
      })
    else { return }
    let name = document.entities[entity].attributes[position].name
    if document.entities[entity].uniquenessConstraints.contains([name]) {
      document.entities[entity].uniquenessConstraints = []
    } else {
      document.entities[entity].uniquenessConstraints.append([name])
    }
    note("toggle the constraint of \(document.entities[entity].name).\(name)")
  }

  mutating func changeIndex() {
    guard let (entity, position) = somewhere({ !$0.isTransient }) else { return }
    let name = document.entities[entity].attributes[position].name
    let index = "by\(name)"
    if document.entities[entity].indexes.contains(where: { $0.name == index }) {
      document.entities[entity].indexes.removeAll { $0.name == index }
    } else {
      document.entities[entity].indexes.append(
        FetchIndexDocument(
          name: index, elements: [FetchIndexElementDocument(propertyName: name, isAscending: random.oneIn(2))]))
    }
    note("toggle the index of \(document.entities[entity].name).\(name)")
  }
}
