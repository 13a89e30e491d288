// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// The differences between the rows and values of two stores, which may have different versions of the model.
package struct StoreDifference: Sendable {
  /// The way in which objects of the two stores are matched.
  package enum Matching: String, CaseIterable, Sendable {
    /// Objects with the same primary key match. At most two objects are in memory.
    case key
    /// Objects with equal values match if the objects related to them match too, and so on. Takes memory for every row.
    case values

    /// Returns `key` for stores with the same identifier, such as a store and its backup, otherwise `values`.
    package static func suitable(_ before: StoreReader, _ after: StoreReader) -> Matching {
      before.metadata.uuid == after.metadata.uuid ? .key : .values
    }
  }

  /// A value that differs.
  package struct ChangedValue: Sendable {
    /// The name of the property in the second store.
    package let property: String
    package let before: ExportedValue
    package let after: ExportedValue
  }

  /// An object that differs, or that exists in only one store.
  package enum Example: Sendable {
    case changed(key: Int64, [ChangedValue])
    case onlyBefore(key: Int64)
    case onlyAfter(key: Int64)
  }

  /// The differences of one entity.
  package struct Entity: Sendable {
    /// The entity in the first store; nil if only the second store has it.
    package let source: String?
    package let destination: String?
    package internal(set) var same = 0
    package internal(set) var changed = 0
    package internal(set) var onlyBefore = 0
    package internal(set) var onlyAfter = 0
    /// The first objects that differ.
    package internal(set) var examples: [Example] = []
    /// Properties that only the first store has.
    package internal(set) var removedProperties: [String] = []
    /// Properties that only the second store has.
    package internal(set) var addedProperties: [String] = []

    package var rowsBefore: Int { same + changed + onlyBefore }
    package var rowsAfter: Int { same + changed + onlyAfter }
    package var isEqual: Bool { changed + onlyBefore + onlyAfter == 0 }
    /// `Entity`, or `Old -> New`.
    package var title: String {
      guard let source, let destination, source != destination else { return destination ?? source ?? "" }
      return "\(source) -> \(destination)"
    }
  }

  package let matching: Matching
  /// The differences sorted by entity name, with entities that only the first store has at the end.
  package let entities: [Entity]

  package var isEqual: Bool { entities.allSatisfy(\.isEqual) }

  /// Compares two stores.
  ///
  /// - Parameters:
  ///   - matching: nil for `key` if both stores have the same identifier, such as a store and its backup, otherwise
  ///     `values`.
  ///   - limit: the maximum number of differing objects listed for each entity.
  ///   - didMissValue: called for a value whose file cannot be read; such a value counts as missing.
  ///   - didRead: called with the entity of each object that was read, for progress. Matching by values reads objects
  ///     several times.
  /// - Throws: `StoreProblem`; the errors of `didMissValue`.
  package init(
    from before: StoreReader, to after: StoreReader, matching: Matching? = nil, limit: Int = 20,
    didMissValue: @escaping (StoreProblem) throws -> Void, didRead: ((String) -> Void)? = nil
  ) throws {
    for reader in [before, after] {
      try reader.checkTables(of: reader.entities)
      try reader.checkEntityNumbers()
    }
    let matching = matching ?? .suitable(before, after)
    self.matching = matching
    let sides = (Side(before, didMissValue, didRead), Side(after, didMissValue, didRead))
    let pairs = EntityPair.all(before, after)
    let names = Dictionary(
      pairs.compactMap { pair in pair.source.flatMap { old in pair.destination.map { (old.name, $0.name) } } }
    ) { first, _ in first }
    let normal = (NormalValues(entities: names), NormalValues(entities: [:]))
    if matching == .values {
      try sides.0.readContents(of: pairs, isSource: true, normal.0)
      try sides.1.readContents(of: pairs, isSource: false, normal.1)
      try Self.refine(sides, pairs, normal)
    }
    entities = try pairs.map { pair in
      var result = Entity(source: pair.source?.name, destination: pair.destination?.name)
      (result.removedProperties, result.addedProperties) = (pair.removed, pair.added)
      switch matching {
      case .key: try result.compareByKeys(pair, sides, normal, limit)
      case .values: try result.compareByValues(pair, sides, normal, limit)
      }
      return result
    }
    for reader in [before, after] { try StoreProblem.translating(reader.url, reader.file.checkUnchanged) }
  }
}

extension StoreDifference {
  /// Distinguishes objects with equal attributes by their relationships, as long as that finds new differences.
  private static func refine(
    _ sides: (Side, Side), _ pairs: [EntityPair], _ normal: (NormalValues, NormalValues)
  ) throws {
    var kinds = (sides.0.kindCount, sides.1.kindCount)
    while sides.0.hasTwins(kinds.0) || sides.1.hasTwins(kinds.1) {
      // Both sides are refined the same number of times, so that their digests are comparable.
      try sides.0.refineContents(of: pairs, isSource: true, normal.0)
      try sides.1.refineContents(of: pairs, isSource: false, normal.1)
      let now = (sides.0.kindCount, sides.1.kindCount)
      guard now.0 > kinds.0 || now.1 > kinds.1 else { return }
      kinds = now
    }
  }
}

/// An entity of the first store, and the entity of the second store that a migration would turn it into.
struct EntityPair {
  let source: ReadableEntity?
  let destination: ReadableEntity?
  /// The properties that both entities have, by their names in the first store and in the second.
  var properties: [(source: String, destination: String)] = []
  var removed: [String] = []
  var added: [String] = []

  static func all(_ before: StoreReader, _ after: StoreReader) -> [EntityPair] {
    let (old, new) = (before.model.map { EntityIndex($0) }, after.model.map { EntityIndex($0) })
    func named(_ reader: StoreReader, _ index: EntityIndex?) -> [(entity: ReadableEntity, identifier: String?)] {
      reader.entities.filter { !$0.isAbstract }.map { ($0, index?[$0.name]?.renamingIdentifier) }
    }
    let entities = Pairing(
      named(before, old), named(after, new), name: \.entity.name, declared: \.identifier, fallsBackOnNames: true)
    let matched = entities.matched.map { source, destination in
      var pair = EntityPair(source: source.entity, destination: destination.entity)
      pair.match(Names(source.entity, old, before), Names(destination.entity, new, after))
      return pair
    }
    let added = entities.added.map { EntityPair(source: nil, destination: $0.entity) }
    let both = (matched + added).sorted { ($0.destination?.name ?? "") < ($1.destination?.name ?? "") }
    return both + entities.removed.map { EntityPair(source: $0.entity, destination: nil) }
  }

  /// The stored properties of an entity, with their renaming identifiers.
  private struct Names {
    var properties: [(name: String, identifier: String?)] = []

    init(_ entity: ReadableEntity, _ index: EntityIndex?, _ reader: StoreReader) {
      guard let layout = entity.layout, let line = index?.lineage(of: entity.name) else {
        let table = entity.table.flatMap { reader.catalog.table(named: $0) }
        properties = (table?.columns ?? []).filter { !$0.name.hasPrefix("Z_") }.map { ($0.name, nil) }
        return
      }
      for attribute in line.flatMap(\.attributes) where layout.attributes[attribute.name] != nil {
        properties.append((attribute.name, attribute.renamingIdentifier))
      }
      for relationship in line.flatMap(\.relationships) {
        guard let found = layout.relationships[relationship.name] else { continue }
        // Apart from its order, a to-many relationship adds nothing to its inverse.
        if case .inverseForeignKey = found.storage, found.inverseName != nil, !found.isOrdered { continue }
        properties.append((relationship.name, relationship.renamingIdentifier))
      }
    }
  }

  private mutating func match(_ old: Names, _ new: Names) {
    let pairs = Pairing(
      old.properties, new.properties, name: \.name, declared: \.identifier, fallsBackOnNames: true)
    properties = pairs.matched.map { ($0.source.name, $0.destination.name) }
    removed = pairs.removed.map(\.name)
    added = pairs.added.map(\.name)
  }
}

/// Normalizes values of two stores so that they can be compared: numbers of any type are equal if their values are, and
/// objects are named by their entity in the second store and their key.
struct NormalValues {
  /// The names of entities in the second store, by those in this one.
  let entities: [String: String]

  func normal(_ value: ExportedValue) -> ExportedValue {
    switch value {
    case .boolean(let flag): .decimal(flag ? "1" : "0")
    case .integer(let number): .decimal(String(number))
    case .real(let number): .decimal(DecimalText.plain(number))
    case .reference(let id): .reference(name(id))
    case .references(let ids): .references(ids.map(name))
    case .composite(let parts): .composite(parts.map { .init(name: $0.name, value: normal($0.value)) })
    case .null, .decimal, .date, .string, .binary, .stream: value
    }
  }

  /// Returns the normalized name of an object: `Entity/pN`.
  func name(_ id: String) -> String {
    let parts = id.split(separator: "/")
    guard parts.count >= 2 else { return id }
    let entity = String(parts[parts.count - 2])
    return "\(entities[entity] ?? entity)/\(parts[parts.count - 1])"
  }

  /// Returns the values of the given properties, in their order; nil for a property that the object does not have.
  func values(of object: ExportedObject, _ properties: [String]) -> [ExportedValue] {
    let values = Dictionary(object.values.map { ($0.name, $0.value) }) { first, _ in first }
    return properties.map { values[$0].map(normal) ?? .null }
  }
}

extension StoreDifference.Entity {
  mutating func add(_ example: StoreDifference.Example, _ limit: Int) {
    if examples.count < limit { examples.append(example) }
  }

  /// Compares objects with the same key, reading both stores side by side.
  fileprivate mutating func compareByKeys(
    _ pair: EntityPair, _ sides: (Side, Side), _ normal: (NormalValues, NormalValues), _ limit: Int
  ) throws {
    let left = try pair.source.flatMap { try ObjectCursor(of: $0, references: sides.0.references) }
    let right = try pair.destination.flatMap { try ObjectCursor(of: $0, references: sides.1.references) }
    let names = (pair.properties.map(\.source), pair.properties.map(\.destination))
    var (one, other) = (try left?.next(), try right?.next())
    while one != nil || other != nil {
      if let before = one, before.key < other?.key ?? .max || other == nil {
        onlyBefore += 1
        add(.onlyBefore(key: before.key), limit)
        one = try left?.next()
      } else if let after = other, after.key < one?.key ?? .max || one == nil {
        onlyAfter += 1
        add(.onlyAfter(key: after.key), limit)
        other = try right?.next()
      } else if let before = one, let after = other {
        let values = zip(normal.0.values(of: before, names.0), normal.1.values(of: after, names.1))
        let differing = zip(names.1, values).filter { $0.1.0 != $0.1.1 }.map {
          StoreDifference.ChangedValue(property: $0.0, before: $0.1.0, after: $0.1.1)
        }
        if differing.isEmpty {
          same += 1
        } else {
          changed += 1
          add(.changed(key: before.key, differing), limit)
        }
        (one, other) = (try left?.next(), try right?.next())
      }
    }
  }

  /// Compares objects by their values.
  fileprivate mutating func compareByValues(
    _ pair: EntityPair, _ sides: (Side, Side), _ normal: (NormalValues, NormalValues), _ limit: Int
  ) throws {
    var left: [Digest: Int] = [:]
    try sides.0.forEachDigest(pair, isSource: true, normal.0) { _, digest in left[digest, default: 0] += 1 }
    try sides.1.forEachDigest(pair, isSource: false, normal.1) { key, digest in
      if let count = left[digest], count > 0 {
        left[digest] = count - 1
        same += 1
      } else {
        onlyAfter += 1
        add(.onlyAfter(key: key), limit)
      }
    }
    left = left.filter { $0.value > 0 }
    onlyBefore = left.values.reduce(0, +)
    guard onlyBefore > 0 else { return }
    var missing: [StoreDifference.Example] = []
    try sides.0.forEachDigest(pair, isSource: true, normal.0) { key, digest in
      guard missing.count < limit, let count = left[digest], count > 0 else { return }
      left[digest] = count - 1
      missing.append(.onlyBefore(key: key))
    }
    examples = Array((missing + examples).prefix(limit))
  }
}

/// A digest of values, made of two hashes with seeds of this process.
private struct Digest: Hashable {
  let first: Int
  let second: Int

  init(_ values: [ExportedValue]) {
    var (one, other) = (Hasher(), Hasher())
    one.combine(values)
    other.combine("second")
    other.combine(values)
    (first, second) = (one.finalize(), other.finalize())
  }
}

/// One of the two stores.
private final class Side {
  let references: ObjectReferences
  /// The digests of all objects by name. They cover the attributes, and related objects up to the number of refinements
  /// made.
  private var contents: [String: Digest] = [:]

  init(
    _ reader: StoreReader, _ didMissValue: @escaping (StoreProblem) throws -> Void, _ didRead: ((String) -> Void)?
  ) {
    references = ObjectReferences(reader: reader, didMissValue: didMissValue, didRead: didRead)
  }

  /// Reads the attributes of all objects, so that relationships can be compared by the contents of their destinations.
  func readContents(of pairs: [EntityPair], isSource: Bool, _ normal: NormalValues) throws {
    for pair in pairs {
      try forEachObject(pair, isSource: isSource) { object, names in
        let relationships = references.reader.schema?[object.entity]?.relationships ?? [:]
        let values = zip(names, normal.values(of: object, names)).filter { relationships[$0.0] == nil }.map(\.1)
        contents[normal.name(object.id)] = Digest(values)
      }
    }
  }

  /// The number of different digests.
  var kindCount: Int { Set(contents.values).count }

  /// Whether some objects share a digest, given the number of different digests.
  func hasTwins(_ kindCount: Int) -> Bool { kindCount < contents.count }

  /// Refines the digests by one more step along relationships.
  func refineContents(of pairs: [EntityPair], isSource: Bool, _ normal: NormalValues) throws {
    var refined: [String: Digest] = [:]
    for pair in pairs {
      guard let entity = (isSource ? pair.source : pair.destination)?.name else { continue }
      try forEachDigest(pair, isSource: isSource, normal) { key, digest in
        refined[normal.name("\(entity)/p\(key)")] = digest
      }
    }
    contents = refined
  }

  /// Calls a body with the digest of each object's values, in which other objects are represented by their contents.
  func forEachDigest(
    _ pair: EntityPair, isSource: Bool, _ normal: NormalValues, _ body: (Int64, Digest) throws -> Void
  ) throws {
    try forEachObject(pair, isSource: isSource) { object, names in
      let values = zip(names, normal.values(of: object, names)).map { name, value -> ExportedValue in
        switch value {
        case .reference(let id): .references([content(id)])
        case .references(let ids):
          // Members of unordered relationships are sorted, since their order depends on keys.
          .references(isOrdered(name, of: object.entity) ? ids.map(content) : ids.map(content).sorted())
        default: value
        }
      }
      try body(object.key, Digest(values))
    }
  }

  private func isOrdered(_ name: String, of entity: String) -> Bool {
    references.reader.schema?[entity]?.relationships[name]?.isOrdered ?? false
  }

  private func content(_ name: String) -> String {
    contents[name].map { "\($0.first)/\($0.second)" } ?? "missing"
  }

  private func forEachObject(
    _ pair: EntityPair, isSource: Bool, _ body: (ExportedObject, [String]) throws -> Void
  ) throws {
    guard let entity = isSource ? pair.source : pair.destination,
      let cursor = try ObjectCursor(of: entity, references: references)
    else { return }
    let names = pair.properties.map { isSource ? $0.source : $0.destination }
    while let object = try cursor.next() { try body(object, names) }
  }
}
