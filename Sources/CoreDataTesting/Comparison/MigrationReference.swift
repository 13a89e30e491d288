// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The expected content of a store after an inferred migration, computed object by object from the two models, without
/// tables.
package struct MigrationReference {
  private let old: ModelShape
  private let new: ModelShape
  /// The old names of entities by their new names.
  private let entities: [String: String]
  /// The old names of properties by their new names, as matched so far.
  private let names = Names()

  /// The old names of properties by their new names, for each pair of a new and an old entity.
  private final class Names {
    struct Pair: Hashable {
      let new: String
      let old: String
    }

    var attributes: [Pair: [String: String]] = [:]
    var relationships: [Pair: [String: String]] = [:]
  }

  package init(from old: ModelDocument, to new: ModelDocument) {
    self.old = ModelShape(old)
    self.new = ModelShape(new)
    entities = Self.match(
      old.entities.map { ($0.name, $0.renamingIdentifier) }, new.entities.map { ($0.name, $0.renamingIdentifier) })
  }

  /// Returns old names by new ones, matched by renaming identifier, or else by the name that the new element declares,
  /// or has if it declares none.
  private static func match(_ old: [(String, String?)], _ new: [(String, String?)]) -> [String: String] {
    var result: [String: String] = [:]
    let twins = Dictionary(grouping: old) { $0.1 ?? $0.0 }
    for (name, declared) in new {
      // If several have the same identifier, the one with the same name is used.
      let found = twins[declared ?? name] ?? []
      if let twin = found.first(where: { $0.0 == name }) ?? found.first { result[name] = twin.0 }
    }
    let names = Set(old.map(\.0))
    var taken = Set(result.values)
    let declaring = new.filter { $0.1 != nil && result[$0.0] == nil }
    let declaringCounts = declaring.reduce(into: [String: Int]()) { $0[$1.1 ?? "", default: 0] += 1 }
    for (name, declared) in declaring where declaringCounts[declared ?? ""] == 1 {
      let former = declared ?? name
      if names.contains(former), taken.insert(former).inserted { result[name] = former }
    }
    for (name, declared) in new where declared == nil && result[name] == nil {
      if names.contains(name), taken.insert(name).inserted { result[name] = name }
    }
    return result
  }

  /// Returns the old entities whose objects become objects of a new entity or of its descendants.
  package func sources(of entity: String) -> [String] {
    entities.filter { new.isKind($0.key, of: entity) }.map(\.value)
  }

  /// Returns the primary-key offset of each old root entity that was merged under a new common parent.
  ///
  /// It is taken from the first object of one entity. Comparing the images then shows whether all other objects have
  /// the same offset.
  package func distances(from before: StoreImage, to after: StoreImage) -> [String: Int] {
    let roots = Set(entities.values.map(old.root))
    var result: [String: Int] = [:]
    for root in roots {
      let members = entities.filter { old.root(of: $0.value) == root }
      let merged = members.keys.contains { name in
        entities.contains { new.root(of: $0.key) == new.root(of: name) && old.root(of: $0.value) != root }
      }
      guard merged else { continue }
      for (name, oldName) in members.sorted(by: { $0.key < $1.key }) {
        guard let first = before.objects.keys.filter({ $0.entity == oldName }).min(),
          let now = after.objects.keys.filter({ $0.entity == name }).min()
        else { continue }
        result[root] = now.number - first.number
        break
      }
    }
    return result.filter { $0.value != 0 }
  }

  /// A reason a migration is impossible.
  package enum Obstacle: Equatable {
    /// A required value is missing, and there is no default value.
    case missing(entity: String, attribute: String)
    /// The new type cannot represent a number.
    case misfit(entity: String, attribute: String)
    /// An entity with rows becomes abstract.
    case abstractRows(entity: String)
    /// A to-one relationship has more than one object.
    case tooMany(entity: String, relationship: String)
    /// Duplicate values under a uniqueness constraint.
    case duplicates(entity: String)
  }

  /// Returns the expected image after the migration, and the obstacles to the migration.
  package func expected(after before: StoreImage) -> (image: StoreImage, obstacles: [Obstacle]) {
    var result = StoreImage()
    var obstacles: [Obstacle] = []
    let newNames = Dictionary(entities.map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    var successors: [StoreImage.Key: StoreImage.Key] = [:]
    for key in before.objects.keys {
      guard let name = newNames[key.entity] else { continue }
      successors[key] = StoreImage.Key(entity: name, number: key.number)
      if new[name]?.isAbstract == true { obstacles.append(.abstractRows(entity: name)) }
    }
    for (key, successor) in successors {
      guard let object = before.objects[key] else { continue }
      var image = StoreImage.Object()
      for (name, attribute) in new.attributes(of: successor.entity) where attribute.derivation == nil {
        let value = value(of: attribute, successor.entity, key.entity, object)
        image.attributes[name] = value
        if value == nil { obstacles.append(.misfit(entity: successor.entity, attribute: name)) }
        if value == StoreImage.Value.none, !attribute.isOptional, attribute.kind != .composite {
          obstacles.append(.missing(entity: successor.entity, attribute: name))
        }
      }
      for name in new.relationships(of: successor.entity).keys { image.relationships[name] = [] }
      result.objects[successor] = image
    }
    for entity in new.document.entities {
      for relationship in entity.relationships where !relationship.isTransient {
        let place = ModelShape.Place(entity: entity.name, relationship: relationship)
        if !fill(place, before, successors, &result) {
          obstacles.append(.tooMany(entity: entity.name, relationship: relationship.name))
        }
      }
    }
    derive(&result)
    obstacles += duplicates(in: result)
    return (result, obstacles)
  }

  // MARK: Attributes

  /// Returns the expected value of an object; nil if the new type cannot represent the old value.
  private func value(
    of attribute: AttributeDocument, _ entity: String, _ oldEntity: String, _ object: StoreImage.Object
  ) -> StoreImage.Value? {
    let known = old.attributes(of: oldEntity)
    guard let name = attributeNames(in: entity, oldEntity)[attribute.name], let value = object.attributes[name] else {
      return initial(attribute)
    }
    if value == StoreImage.Value.none {
      return attribute.isOptional ? StoreImage.Value.none : initial(attribute)
    }
    if case .parts(let parts) = value, let before = known[name] { return self.parts(parts, of: attribute, before) }
    return known[name]?.kind == attribute.kind ? value : converted(value, to: attribute.kind)
  }

  /// Returns the old names of attributes by their new names.
  private func attributeNames(in entity: String, _ oldEntity: String) -> [String: String] {
    let pair = Names.Pair(new: entity, old: oldEntity)
    if let known = names.attributes[pair] { return known }
    let result = Self.match(
      old.attributes(of: oldEntity).values.map { ($0.name, $0.renamingIdentifier) },
      new.attributes(of: entity).values.map { ($0.name, $0.renamingIdentifier) })
    names.attributes[pair] = result
    return result
  }

  private func parts(
    _ values: [String: StoreImage.Value], of attribute: AttributeDocument, _ before: AttributeDocument
  ) -> StoreImage.Value {
    let names = Self.match(
      before.elements.map { ($0.name, $0.renamingIdentifier) },
      attribute.elements.map { ($0.name, $0.renamingIdentifier) })
    var result: [String: StoreImage.Value] = [:]
    for element in attribute.elements {
      let value = names[element.name].flatMap { values[$0] } ?? initial(element)
      if value != .none { result[element.name] = value }
    }
    return result.isEmpty ? .none : .parts(result)
  }

  /// Returns the value of an attribute in a new object. A composite that lacks a required element has none.
  private func initial(_ attribute: AttributeDocument) -> StoreImage.Value {
    guard attribute.kind == .composite else { return plain(attribute.defaultValue, attribute.kind) }
    var parts: [String: StoreImage.Value] = [:]
    for element in attribute.elements {
      let value = initial(element)
      if value != .none { parts[element.name] = value } else if !element.isOptional { return .none }
    }
    return parts.isEmpty ? .none : .parts(parts)
  }

  private func plain(_ value: PlainValue?, _ kind: AttributeKind) -> StoreImage.Value {
    switch value {
    case nil, .null: .none
    case .boolean(let value): .flag(value)
    case .integer(let value): kind == .double ? .real(Double(value)) : .integer(value)
    case .real(let value): kind == .float ? .float(Float(value)) : .real(value)
    case .decimal(let value): .decimal(value)
    case .string(let value): .text(value)
    case .date(let value): .seconds(value.timeIntervalSinceReferenceDate)
    case .data(let value): .bytes(value)
    case .uuid(let value): .identifier(value)
    case .url(let value): .place(value.absoluteString)
    default: .text("a default value that the generator does not make")
    }
  }

  private func converted(_ value: StoreImage.Value, to kind: AttributeKind) -> StoreImage.Value? {
    let (real, exact): (Double, Decimal)
    var whole: Int64?
    switch value {
    case .flag(let value): (real, whole, exact) = (value ? 1 : 0, value ? 1 : 0, value ? 1 : 0)
    case .integer(let value): (real, whole, exact) = (Double(value), value, Decimal(value))
    case .real(let value): (real, whole, exact) = (value, Int64(cutting: value), Self.decimal(value))
    case .float(let value):
      (real, whole, exact) = (Double(value), Int64(cutting: Double(value)), Self.decimal(Double(value)))
    case .decimal(let value):
      let text = "\(value)"
      let number = Double(text) ?? .nan
      (real, exact) = (number, value)
      whole = Int64(text.prefix { $0 != "." }) ?? Int64(cutting: number)
    default: return value
    }
    switch kind {
    case .integer16: return whole.flatMap { Int16(exactly: $0) }.map { .integer(Int64($0)) }
    case .integer32: return whole.flatMap { Int32(exactly: $0) }.map { .integer(Int64($0)) }
    case .integer64: return whole.map { .integer($0) }
    case .boolean: return .flag(real != 0)
    case .double: return .real(real)
    case .float: return Float(real).isInfinite && !real.isInfinite ? nil : .float(Float(real))
    case .decimal: return exact.isNaN ? nil : .decimal(exact)
    default: return value
    }
  }

  /// Returns the decimal of a double: a whole number exactly, and others from their shortest text; NaN if no decimal
  /// represents it.
  private static func decimal(_ value: Double) -> Decimal {
    abs(value) > 3.4e165 ? .nan : Int64(exactly: value).map { Decimal($0) } ?? Decimal(string: "\(value)") ?? .nan
  }

  /// Sets derived attributes, as far as the generator creates them.
  private func derive(_ image: inout StoreImage) {
    for (key, object) in image.objects {
      for (name, attribute) in new.attributes(of: key.entity) {
        switch attribute.derivation {
        case .keyPath(let path)?:
          let members = object.relationships[String(path.split(separator: ".")[0])] ?? []
          image.objects[key]?.attributes[name] = .integer(Int64(members.count))
        case .function(_, _, let arguments)?:
          guard case .keyPath(let source)? = arguments.first else { continue }
          if case .text(let text)? = object.attributes[source] {
            image.objects[key]?.attributes[name] = .text(text.lowercased())
          } else {
            image.objects[key]?.attributes[name] = StoreImage.Value.none
          }
        default: continue
        }
      }
    }
  }

  private func duplicates(in image: StoreImage) -> [Obstacle] {
    new.document.entities.flatMap { entity in
      entity.uniquenessConstraints.compactMap { constraint -> Obstacle? in
        let rows = image.objects.filter { new.isKind($0.key.entity, of: entity.name) }.map { object in
          constraint.map { name -> StoreImage.Value? in
            if let value = object.value.attributes[name] { return value == StoreImage.Value.none ? nil : value }
            return object.value.relationships[name]?.first.map { .text("\($0)") }
          }
        }.filter { !$0.contains(nil) }
        return Set(rows).count == rows.count ? nil : .duplicates(entity: entity.name)
      }
    }
  }

  // MARK: Relationships

  /// Returns the old name of an object's relationship; nil if it is new, or has a different destination entity.
  private func oldName(of relationship: String, in entity: String, _ oldEntity: String) -> String? {
    let known = old.relationships(of: oldEntity)
    let present = new.relationships(of: entity)
    guard let name = relationshipNames(in: entity, oldEntity)[relationship],
      let was = known[name]?.relationship.destinationEntityName,
      let now = present[relationship]?.relationship.destinationEntityName,
      let successor = entities.first(where: { $0.value == was })?.key,
      new.isKind(successor, of: now) || new.isKind(now, of: successor)
    else { return nil }
    return name
  }

  /// Returns the old names of relationships by their new names.
  private func relationshipNames(in entity: String, _ oldEntity: String) -> [String: String] {
    let pair = Names.Pair(new: entity, old: oldEntity)
    if let known = names.relationships[pair] { return known }
    let result = Self.match(
      old.relationships(of: oldEntity).values.map { ($0.relationship.name, $0.relationship.renamingIdentifier) },
      new.relationships(of: entity).values.map { ($0.relationship.name, $0.relationship.renamingIdentifier) })
    names.relationships[pair] = result
    return result
  }

  /// Fills a relationship from the objects' old values and from those of the objects at the other end.
  ///
  /// - Returns: false if there is more than one object for a to-one relationship.
  private func fill(
    _ place: ModelShape.Place, _ before: StoreImage, _ successors: [StoreImage.Key: StoreImage.Key],
    _ result: inout StoreImage
  ) -> Bool {
    let relationship = place.relationship
    let destination = relationship.destinationEntityName ?? ""
    var members: [StoreImage.Key: [StoreImage.Key]] = [:]
    var isInOrder = relationship.isOrdered
    var isKnown = false
    for (key, object) in before.objects {
      guard let owner = successors[key], new.isKind(owner.entity, of: place.entity),
        let name = oldName(of: relationship.name, in: owner.entity, key.entity)
      else { continue }
      isKnown = true
      if old.relationships(of: key.entity)[name]?.relationship.isOrdered != true { isInOrder = false }
      members[owner, default: []] += (object.relationships[name] ?? []).compactMap { successors[$0] }
    }
    if let inverse = relationship.inverseName,
      new.relationships(of: destination)[inverse]?.relationship.inverseName == relationship.name
    {
      // Objects known only from the other side come last, sorted by key.
      for (key, object) in before.objects.sorted(by: { $0.key < $1.key }) {
        guard let member = successors[key], new.isKind(member.entity, of: destination),
          let name = oldName(of: inverse, in: member.entity, key.entity)
        else { continue }
        for owner in (object.relationships[name] ?? []).compactMap({ successors[$0] })
        where !members[owner, default: []].contains(member) { members[owner, default: []].append(member) }
      }
    }
    var isPossible = true
    for (owner, found) in members where new.isKind(owner.entity, of: place.entity) {
      let kept = found.filter { new.isKind($0.entity, of: destination) }
      if kept.count > 1, !relationship.isToMany { isPossible = false }
      result.objects[owner]?.relationships[relationship.name] = isInOrder && isKnown ? kept : kept.sorted()
    }
    if relationship.isToMany, relationship.inverseName == nil {
      let all = members.filter { new.isKind($0.key.entity, of: place.entity) }.values
        .flatMap { $0.filter { new.isKind($0.entity, of: destination) } }
      if Set(all).count != all.count { isPossible = false }
    }
    return isPossible
  }
}

extension Int64 {
  /// Truncates a number; nil if it is too large.
  fileprivate init?(cutting value: Double) {
    self.init(exactly: value.rounded(.towardZero))
  }
}
