// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// A store that is open, with a context.
struct OpenedStore {
  let url: URL
  let model: ExchangeModel
  let store: NSPersistentStore
  let context: NSManagedObjectContext
  let coordinator: NSPersistentStoreCoordinator

  /// Opens or creates a store.
  /// - Parameters:
  ///   - url: the location.
  ///   - model: the model.
  ///   - hasHistory: whether saves are recorded in persistent history.
  ///   - migrates: whether a store of an earlier version is migrated.
  init(at url: URL, model: ExchangeModel, hasHistory: Bool, migrates: Bool = false) throws {
    self.url = url
    self.model = model
    coordinator = NSPersistentStoreCoordinator(managedObjectModel: model.make())
    store = try coordinator.addPersistentStore(
      ofType: NSSQLiteStoreType, configurationName: nil, at: url,
      options: [
        NSPersistentHistoryTrackingKey: hasHistory, NSMigratePersistentStoresAutomaticallyOption: migrates,
        NSInferMappingModelAutomaticallyOption: migrates,
      ])
    context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
    context.persistentStoreCoordinator = coordinator
    context.transactionAuthor = "exchange"
  }

  /// The version hashes in the metadata of the store.
  var storeHashes: [String: String] {
    let hashes = coordinator.metadata(for: store)[NSStoreModelVersionHashesKey] as? [String: Data] ?? [:]
    return hashes.mapValues { $0.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined() }
  }

  /// Closes the store.
  func close() throws {
    context.performAndWait { context.reset() }
    try coordinator.remove(store)
  }

  /// Of each entity, the values of its own rows, under the row's code and the property's name.
  func rows() throws -> [String: [String: [String: String]]] {
    try context.performAndWait {
      var result: [String: [String: [String: String]]] = [:]
      for (name, entity) in coordinator.managedObjectModel.entitiesByName where !entity.isAbstract {
        let request = NSFetchRequest<NSManagedObject>(entityName: name)
        request.includesSubentities = false
        var rows: [String: [String: String]] = [:]
        for object in try context.fetch(request) {
          rows[Self.code(object)] = entity.propertiesByName.mapValues { Self.text(of: object, $0) }
        }
        result[name] = rows
      }
      return result
    }
  }

  /// The transactions of persistent history, each with its changes in alphabetical order; none where the store has none.
  func history() throws -> [[String]] {
    guard store.options?[NSPersistentHistoryTrackingKey] as? Bool == true else { return [] }
    return try context.performAndWait {
      let request = NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?)
      request.resultType = .transactionsAndChanges
      let result = try context.execute(request) as? NSPersistentHistoryResult
      return (result?.result as? [NSPersistentHistoryTransaction] ?? []).map { transaction in
        let changes = (transaction.changes ?? []).map { change in
          let properties = (change.updatedProperties ?? []).map(\.name).sorted().joined(separator: ",")
          return "\(Self.name(change.changeType)) \(change.changedObjectID.entity.name ?? "") \(properties)"
        }
        return ["by \(transaction.author ?? "nobody")"] + changes.sorted()
      }
    }
  }

  private static func name(_ type: NSPersistentHistoryChangeType) -> String {
    switch type {
    case .insert: "insert"
    case .update: "update"
    case .delete: "delete"
    @unknown default: "unknown"
    }
  }

  private static func code(_ object: NSManagedObject) -> String {
    object.value(forKey: "code") as? String ?? "without a code"
  }

  /// A value in a form that is the same on each side.
  private static func text(of object: NSManagedObject, _ property: NSPropertyDescription) -> String {
    guard let value = object.value(forKey: property.name) else { return "nil" }
    if let other = value as? NSManagedObject { return code(other) }
    if let others = value as? NSOrderedSet {
      return "[" + others.compactMap { ($0 as? NSManagedObject).map(code) }.joined(separator: ", ") + "]"
    }
    if let others = value as? NSSet {
      return "{" + others.compactMap { ($0 as? NSManagedObject).map(code) }.sorted().joined(separator: ", ") + "}"
    }
    // The digits of a number with a fraction depend on Foundation; its bits do not.
    switch ((property as? NSAttributeDescription)?.attributeType, value as? NSNumber) {
    case (.doubleAttributeType, let number?): return "double \(number.doubleValue.bitPattern)"
    case (.floatAttributeType, let number?): return "float \(number.floatValue.bitPattern)"
    default: return text(value)
    }
  }

  static func text(_ value: Any) -> String {
    switch value {
    case let text as String: "text \(text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " "))"
    case let date as Date: "date \(date.timeIntervalSinceReferenceDate)"
    case let data as Data: "\(data.count) bytes with the sum \(sum(data))"
    case let uuid as UUID: "uuid \(uuid.uuidString)"
    case let url as URL: "url \(url.absoluteString)"
    case let decimal as NSDecimalNumber: "decimal \(decimal.stringValue)"
    case let number as NSNumber: "number \(number.stringValue)"
    case let list as [Any]: "list of " + list.map { text($0) }.joined(separator: ", ")
    case let dictionary as [String: Any]:
      "with " + dictionary.sorted { $0.key < $1.key }.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ")
    default: "of an unknown type: \(type(of: value))"
    }
  }

  /// The checksum of FNV-1a with 64 bits.
  private static func sum(_ data: Data) -> String {
    let value = data.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    return String(value, radix: 16)
  }
}
