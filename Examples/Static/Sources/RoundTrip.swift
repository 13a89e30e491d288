// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Saves a store with values of every type, reads it, migrates it and reads it again.
///
/// In programs linked with `--static-swift-stdlib`, parts of Foundation for Linux are silently missing (Swift 6.3):
/// property lists cannot be written, archives have no bytes, and Swift collections are not bridged.
@main
enum RoundTrip {
  struct Failure: Error, CustomStringConvertible {
    let description: String
  }

  static func main() throws {
    guard CommandLine.arguments.count == 2 else { throw Failure(description: "Usage: roundtrip STORE") }
    let url = URL(fileURLWithPath: CommandLine.arguments[1])
    try save(at: url)
    try read(at: url, model: model(isNew: false))
    try read(at: url, model: model(isNew: true))
    try checkFoundation()
    print("Values of \(values.count) types were saved, read, migrated and read again.")
  }

  /// Values of transformable attributes, each with the value expected back.
  private static var values: [(name: String, value: Any, expected: NSObject)] {
    [
      ("array", ["a", "b"], NSArray(array: ["a", "b"])),
      ("dictionary", ["k": [1.5]], NSDictionary(dictionary: ["k": [1.5]])),
      ("set", Set(["x"]), NSSet(array: ["x"])), ("ordered", NSOrderedSet(array: [1, 2]), NSOrderedSet(array: [1, 2])),
      ("text", "Größe 🦀", NSString("Größe 🦀")), ("number", 2.5, NSNumber(value: 2.5)),
      ("flag", true, NSNumber(value: true)),
      ("decimal", NSDecimalNumber(string: "-1.25"), NSDecimalNumber(string: "-1.25")),
      ("mutable", NSMutableArray(array: ["m"]), NSMutableArray(array: ["m"])),
      ("date", NSDate(timeIntervalSinceReferenceDate: 1.5), NSDate(timeIntervalSinceReferenceDate: 1.5)),
    ]
  }

  private static func model(isNew: Bool) -> NSManagedObjectModel {
    func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
      let attribute = NSAttributeDescription()
      attribute.name = name
      attribute.attributeType = type
      attribute.isOptional = true
      return attribute
    }
    let entity = NSEntityDescription()
    entity.name = "Item"
    entity.properties =
      [
        attribute("name", .stringAttributeType), attribute("value", .transformableAttributeType),
        attribute("price", .decimalAttributeType), attribute("moment", .dateAttributeType),
        attribute("site", .URIAttributeType), attribute("token", .UUIDAttributeType),
        attribute("bytes", .binaryDataAttributeType),
      ] + (isNew ? [attribute("more", .integer32AttributeType)] : [])
    let model = NSManagedObjectModel()
    model.entities = [entity]
    return model
  }

  private static func context(_ model: NSManagedObjectModel, _ url: URL) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let options: [AnyHashable: Any] = [
      NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true,
    ]
    let store = try coordinator.addPersistentStore(type: .sqlite, at: url, options: options)
    var metadata = coordinator.metadata(for: store)
    metadata["tags"] = ["one", "two"]
    metadata["count"] = 3
    coordinator.setMetadata(metadata, for: store)
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private static func save(at url: URL) throws {
    let context = try context(model(isNew: false), url)
    for (name, value, _) in values {
      let item = NSEntityDescription.insertNewObject(forEntityName: "Item", into: context)
      item.setValuesForKeys([
        "name": name, "value": value, "price": NSDecimalNumber(string: "12.5"),
        "moment": Date(timeIntervalSince1970: 5),
        "site": URL(string: "https://example.org") as Any, "token": UUID(), "bytes": Data([1, 2, 3]),
      ])
    }
    try context.save()
  }

  private static func read(at url: URL, model: NSManagedObjectModel) throws {
    let context = try context(model, url)
    let request = NSFetchRequest<NSManagedObject>(entityName: "Item")
    request.predicate = NSPredicate(format: "price > 12 AND name LIKE[cd] '*'")
    request.sortDescriptors = [NSSortDescriptor(key: "name", ascending: true)]
    let items = try context.fetch(request)
    guard items.count == values.count else {
      throw Failure(description: "\(items.count) rows instead of \(values.count)")
    }
    for (name, _, expected) in values {
      let found = items.first { $0["name"] as? String == name }?["value"]
      guard found as? NSObject == expected else {
        throw Failure(description: "'\(name)' is \(found ?? "nil") instead of \(expected)")
      }
    }
    guard !context.hasChanges else { throw Failure(description: "reading changed objects") }
    let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(type: .sqlite, at: url)
    guard metadata["tags"] as? [String] == ["one", "two"], metadata["count"] as? Int == 3 else {
      throw Failure(description: "the metadata is \(metadata)")
    }
  }

  /// Checks Foundation's own writers, which transformers of programs use.
  private static func checkFoundation() throws {
    guard (["a"] as Any) is NSArray, (NSSet(array: ["a"]) as Any) is Set<String>,
      (Set<NSManagedObject>() as Any) is NSSet
    else {
      throw Failure(description: "Swift collections are not bridged")
    }
    let archive = try NSKeyedArchiver.archivedData(withRootObject: ["a"] as NSArray, requiringSecureCoding: true)
    let list = try PropertyListSerialization.data(fromPropertyList: ["a": 1], format: .binary, options: 0)
    guard !archive.isEmpty, !list.isEmpty else { throw Failure(description: "Foundation's archives are empty") }
  }
}
