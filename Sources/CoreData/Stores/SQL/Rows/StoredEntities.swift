// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataStoreFiles

/// The entities of an open store: their tables, and the descriptions of their objects.
///
/// A class, because every row uses it, and copying a structure would retain all its parts.
package final class StoredEntities {
  package let schema: StoreSchema
  /// The entities, by number.
  private let members: [RowIdentities.Member?]
  private let numbers: [ObjectIdentifier: Int]
  /// The most recent entity and its number, because rows come grouped by entity.
  private var last: (entity: ObjectIdentifier, number: Int)?
  /// The store; nil if rows need no identifiers. The store owns these entities, so it outlives every use. Reference
  /// counting would cost too much, because every row uses it.
  private unowned(unsafe) let store: NSPersistentStore?
  /// The factory of identifiers; replaced when the store's UUID or number changes.
  private var knownIdentities: RowIdentities?
  /// The store's `identityVersion` before `knownIdentities` was created.
  private var knownVersion = 0

  package init(schema: StoreSchema, model: NSManagedObjectModel, store: NSPersistentStore?) {
    self.schema = schema
    self.store = store
    let known = model.entitiesByName
    var members: [RowIdentities.Member?] = Array(repeating: nil, count: (schema.entities.map(\.number).max() ?? 0) + 1)
    for entity in schema.entities {
      let hierarchy = schema.entity(number: entity.rootNumber)?.numbers ?? []
      members[entity.number] = RowIdentities.Member(
        root: entity.rootNumber, description: known[entity.name], only: hierarchy.count == 1 ? hierarchy[0] : 0)
    }
    self.members = members
    numbers = Dictionary(
      members.enumerated().compactMap { number, member in
        member?.description.map { (ObjectIdentifier($0), number) }
      }
    ) { first, _ in first }
  }

  /// The store; nil if rows need no identifiers.
  package var owner: NSPersistentStore? { store }

  /// Creates the entities for another connection to the same store, which another thread may use.
  package init(sharing other: StoredEntities) {
    (schema, members, numbers, store) = (other.schema, other.members, other.numbers, other.store)
  }

  /// Reads the store's part of identifiers, once for the reads that follow.
  package func noteIdentity() {
    guard let store else { return }
    let version = store.identityVersion
    if knownIdentities != nil, knownVersion == version { return }
    knownVersion = version
    let (number, reference) = store.numberAndReference
    if let knownIdentities, knownIdentities.store == number, knownIdentities.reference === reference { return }
    knownIdentities = RowIdentities(store: number, reference: reference, members: members)
  }

  /// The factory of identifiers; nil if rows need none.
  package var identities: RowIdentities? {
    if knownIdentities == nil { noteIdentity() }
    return knownIdentities
  }

  private func member(_ number: Int) -> RowIdentities.Member? {
    members.indices.contains(number) ? members[number] : nil
  }

  package func description(number: Int) -> NSEntityDescription? { member(number)?.description }

  /// Returns the number of an entity in the store; nil if the store does not have it.
  package func number(of entity: NSEntityDescription) -> Int? {
    let identity = ObjectIdentifier(entity)
    if let last, last.entity == identity { return last.number }
    if let known = numbers[identity] {
      last = (identity, known)
      return known
    }
    return schema[entity.name ?? ""]?.number
  }

  /// Returns the layout of an entity.
  ///
  /// - Throws: `SchemaProblem` if the store does not have the entity.
  package func layout(of entity: NSEntityDescription) throws -> EntityLayout {
    let name = entity.name ?? ""
    guard let layout = schema[name] else { throw SchemaProblem.entityNotInStore(entity: name) }
    return layout
  }

  /// Returns the identifier of a row; nil for an unknown entity number.
  package func id(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    identities?.id(entity: number, primaryKey: primaryKey)
  }

  /// Returns the entity number of a row; nil if its `Z_ENT` names no entity of the table.
  ///
  /// In a table of a single entity, Core Data ignores the number, and rows inserted by hand may contain any.
  package func number(ofRow stored: Int64, like entity: EntityLayout) -> Int? {
    if let number = Int(exactly: stored), member(number)?.root == entity.rootNumber { return number }
    return member(entity.number).flatMap { $0.only == 0 ? nil : $0.only }
  }

  /// Returns the entity number of a relationship's destination; nil if there is none.
  ///
  /// - Parameters:
  ///   - stored: the number in the row. A row older than the destination's sub-entities has none, or 0.
  ///   - declared: the number of the relationship's own entity.
  package func destination(_ stored: Int, declared: Int) -> Int? {
    if stored != 0, description(number: stored) != nil { return stored }
    return declared != 0 && description(number: declared) != nil ? declared : nil
  }

  /// Returns whether an identifier belongs to this store.
  package func owns(_ id: NSManagedObjectID) -> Bool { id.key.store == identities?.store }
}

extension StoredEntities: ObjectKeys {
  /// A builder of statements over the store's tables.
  package var selects: SelectBuilder { SelectBuilder(schema: schema, objects: self) }

  package func primaryKey(of object: OpaqueObject, root: Int) throws -> Int64? {
    let id: NSManagedObjectID
    switch object.value.base {
    case let value as NSManagedObjectID: id = value.current
    case let value as any ObjectIdentified: id = value.objectID.current
    default: throw NotExpressibleInSQL()
    }
    return owns(id) && Int(id.key.root) == root ? id.key.number : nil
  }
}
