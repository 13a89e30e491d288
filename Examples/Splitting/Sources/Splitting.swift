// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Creates a store with the first version of the model, migrates it with a policy, and reads it with the second. With a path
/// as argument, only creates the store of the first version there.
@main
struct Splitting {
  static func main() throws {
    guard let file = Bundle.module.url(forResource: "Contacts", withExtension: "xcdatamodeld") else {
      fatalError("The model is missing from the program's resources.")
    }
    let first = try NSManagedObjectModel.load(contentsOf: file, version: "Contacts")
    let second = try NSManagedObjectModel.load(contentsOf: file, version: "Contacts 2")
    if CommandLine.arguments.count > 1 {
      return try writeContacts(to: URL(fileURLWithPath: CommandLine.arguments[1]), first)
    }

    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    // The system cleans up the temporary directory.
    defer { try? FileManager.default.removeItem(at: folder) }
    let old = folder.appendingPathComponent("Contacts.sqlite")
    let new = folder.appendingPathComponent("Contacts 2.sqlite")

    try writeContacts(to: old, first)

    // Infer the mapping, and add a policy for what cannot be inferred.
    let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: first, destinationModel: second)
    for contact in mapping.entityMappings where contact.destinationEntityName == "Contact" {
      contact.mappingType = .customEntityMappingType
      contact.entityMigrationPolicyClassName = "SplitName"
    }
    try NSMigrationManager(sourceModel: first, destinationModel: second)
      .migrateStore(from: old, type: .sqlite, mapping: mapping, to: new, type: .sqlite)
    try printContacts(of: new, second)
  }

  private static func context(_ url: URL, _ model: NSManagedObjectModel) throws -> NSManagedObjectContext {
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.addPersistentStore(type: .sqlite, at: url)
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = coordinator
    return context
  }

  private static func writeContacts(to url: URL, _ model: NSManagedObjectModel) throws {
    let context = try context(url, model)
    let texts = ["Ada Lovelace": "Notes by the translator", "Plato": "Know thyself", "Mary W. Shelley": nil]
    for (name, text) in texts {
      let contact = NSEntityDescription.insertNewObject(forEntityName: "Contact", into: context)
      contact.setValue(name, forKey: "fullName")
      guard let text else { continue }
      let message = NSEntityDescription.insertNewObject(forEntityName: "Message", into: context)
      message.setValue(text, forKey: "text")
      message.setValue(contact, forKey: "sender")
    }
    try context.save()
  }

  private static func printContacts(of url: URL, _ model: NSManagedObjectModel) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Contact")
    request.sortDescriptors = [NSSortDescriptor(key: "firstName", ascending: true)]
    let context = try context(url, model)
    for contact in try context.fetch(request) {
      let messages = contact.value(forKey: "messages") as? Set<NSManagedObject> ?? []
      print(
        contact.value(forKey: "firstName") ?? "-", contact.value(forKey: "lastName") ?? "-",
        messages.compactMap { $0.value(forKey: "text") }, separator: " | ")
    }
    // Objects need their context, so keep it until they have been read.
    context.reset()
  }
}
