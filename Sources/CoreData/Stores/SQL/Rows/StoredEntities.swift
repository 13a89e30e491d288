// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles

/// The entities of an open store: where they stand, and the descriptions that rows are handed out under.
///
/// One object for all who ask, since it is asked for every row, and a copy of a structure would count all its parts anew.
final class StoredEntities {
  let schema: StoreSchema
  /// By entity number.
  private let members: [Member?]
  private let numbers: [ObjectIdentifier: Int]
  /// The entity that was asked for last, and its number: rows come entity by entity.
  private var last: (entity: ObjectIdentifier, number: Int)?
  /// Nil where rows are not handed out, and need no identifiers. The store has these entities, so that it is there as long
  /// as they are asked for anything, which is once for every row: too often for its uses to be counted.
  private unowned(unsafe) let store: NSPersistentStore?

  /// What is asked of an entity for every row.
  private struct Member {
    let root: Int
    let description: NSEntityDescription?
    /// The entity of all rows in the table; 0 where there are several.
    let only: Int
  }

  init(schema: StoreSchema, model: NSManagedObjectModel, store: NSPersistentStore?) {
    self.schema = schema
    self.store = store
    let known = model.entitiesByName
    var members: [Member?] = Array(repeating: nil, count: (schema.entities.map(\.number).max() ?? 0) + 1)
    for entity in schema.entities {
      let hierarchy = schema.entity(number: entity.rootNumber)?.numbers ?? []
      members[entity.number] = Member(
        root: entity.rootNumber, description: known[entity.name], only: hierarchy.count == 1 ? hierarchy[0] : 0)
    }
    self.members = members
    numbers = Dictionary(
      members.enumerated().compactMap { number, member in
        member?.description.map { (ObjectIdentifier($0), number) }
      }
    ) { first, _ in first }
  }

  private func member(_ number: Int) -> Member? { members.indices.contains(number) ? members[number] : nil }

  func description(number: Int) -> NSEntityDescription? { member(number)?.description }

  /// The number of an entity in the store; nil when the store does not hold it.
  func number(of entity: NSEntityDescription) -> Int? {
    let identity = ObjectIdentifier(entity)
    if let last, last.entity == identity { return last.number }
    if let known = numbers[identity] {
      last = (identity, known)
      return known
    }
    return schema[entity.name ?? ""]?.number
  }

  /// The layout of an entity.
  ///
  /// - Throws: `SchemaProblem` when the store does not hold the entity.
  func layout(of entity: NSEntityDescription) throws -> EntityLayout {
    let name = entity.name ?? ""
    guard let layout = schema[name] else { throw SchemaProblem.entityNotInStore(entity: name) }
    return layout
  }

  /// What the row of an entity is known by; nil when the number is that of no entity.
  func key(entity number: Int, primaryKey: Int64) -> ObjectKey? {
    guard let store, members.indices.contains(number), let root = members[number]?.root else { return nil }
    return ObjectKey(store: store.number, root: UInt32(root), number: primaryKey)
  }

  /// The identifier of a row; nil when the number is that of no entity.
  func id(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    guard let store, let member = member(number), let description = member.description else { return nil }
    return NSManagedObjectID(
      entity: description, key: ObjectKey(store: store.number, root: UInt32(member.root), number: primaryKey),
      store: store.reference)
  }

  /// The number of the entity that a row is of; nil when its `Z_ENT` is that of no entity in its table.
  ///
  /// A table of one entity needs no number to tell its rows apart, and Core Data does not look at it there: rows that were
  /// put in by hand have any.
  func number(ofRow stored: Int64, like entity: EntityLayout) -> Int? {
    if let number = Int(exactly: stored), member(number)?.root == entity.rootNumber { return number }
    return member(entity.number).flatMap { $0.only == 0 ? nil : $0.only }
  }

  /// Whether the identifier is that of a row in this store.
  func owns(_ id: NSManagedObjectID) -> Bool { id.key.store == store?.number }
}

extension StoredEntities: ObjectKeys {
  /// Builds statements over the store's tables.
  var selects: SelectBuilder { SelectBuilder(schema: schema, objects: self) }

  func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64? {
    let id: NSManagedObjectID
    switch object.value.base {
    case let value as NSManagedObjectID: id = value.current
    case let value as any ObjectIdentified: id = value.objectID.current
    default: throw NotExpressibleInSQL()
    }
    return owns(id) && Int(id.key.root) == root ? id.key.number : nil
  }
}
