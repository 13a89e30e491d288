// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The entities of an open store: where they stand, and the descriptions that rows are handed out under.
struct StoredEntities {
  let schema: StoreSchema
  private let descriptions: [Int: NSEntityDescription]
  /// Nil where rows are not handed out, and need no identifiers.
  private unowned let store: NSPersistentStore?

  init(schema: StoreSchema, model: NSManagedObjectModel, store: NSPersistentStore?) {
    self.schema = schema
    self.store = store
    let known = model.entitiesByName
    descriptions = Dictionary(
      uniqueKeysWithValues: schema.entities.compactMap { entity in known[entity.name].map { (entity.number, $0) } })
  }

  func description(number: Int) -> NSEntityDescription? { descriptions[number] }

  /// The layout of an entity.
  ///
  /// - Throws: `SchemaProblem` when the store does not hold the entity.
  func layout(of entity: NSEntityDescription) throws -> EntityLayout {
    let name = entity.name ?? ""
    guard let layout = schema[name] else { throw SchemaProblem.entityNotInStore(entity: name) }
    return layout
  }

  /// The identifier of a row; nil when the number is that of no entity.
  func id(entity number: Int, primaryKey: Int64) -> NSManagedObjectID? {
    guard let store, let layout = schema.entity(number: number), let description = descriptions[number] else { return nil }
    return NSManagedObjectID(
      entity: description,
      key: ObjectKey(store: store.number, root: UInt32(layout.rootNumber), number: primaryKey), store: store)
  }

  /// The number of the entity that a row is of; nil when its `Z_ENT` is that of no entity in its table.
  ///
  /// A table of one entity needs no number to tell its rows apart, and Core Data does not look at it there: rows that were
  /// put in by hand have any.
  func number(ofRow stored: Int64, like entity: EntityLayout) -> Int? {
    if let number = Int(exactly: stored), schema.entity(number: number)?.rootNumber == entity.rootNumber {
      return number
    }
    let hierarchy = schema.entity(number: entity.rootNumber)?.numbers ?? []
    return hierarchy.count == 1 ? hierarchy[0] : nil
  }

  /// Whether the identifier is that of a row in this store.
  func owns(_ id: NSManagedObjectID) -> Bool { id.key.store == store?.number }
}
