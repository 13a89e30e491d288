// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Copies every note, and finds or creates the writer with its first name among the destination's objects, all of which
/// it lists for every new name.
final class ListingPolicy: NSEntityMigrationPolicy {
  private var writers: [String: NSManagedObject] = [:]

  override func createDestinationInstances(
    forSource source: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: manager.destinationContext)
    for key in ["title", "body", "dateCreated", "displayIndex"] {
      note.setValue(source.value(forKey: key), forKey: key)
    }
    let names = (source.value(forKey: "fullName") as? String ?? "").split(separator: " ").map(String.init)
    note.setValue(names.first, forKey: "firstName")
    note.setValue(names.last, forKey: "lastName")
    let name = names.first ?? ""
    let writer = writers[name] ?? found(name, manager.destinationContext) ?? made(name, manager.destinationContext)
    writers[name] = writer
    manager.associate(sourceInstance: source, withDestinationInstance: note, for: mapping)
  }

  private func found(_ name: String, _ context: NSManagedObjectContext) -> NSManagedObject? {
    context.registeredObjects.first { $0.entity.name == "Writer" && $0.value(forKey: "name") as? String == name }
  }

  private func made(_ name: String, _ context: NSManagedObjectContext) -> NSManagedObject {
    let writer = NSEntityDescription.insertNewObject(forEntityName: "Writer", into: context)
    writer.setValue(name, forKey: "name")
    return writer
  }
}
