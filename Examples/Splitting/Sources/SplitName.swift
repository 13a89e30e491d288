// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Splits the full name of a contact into a first and a last name.
final class SplitName: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    // Map the other attributes, and associate the objects so that messages find their sender.
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let contact = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]

    let words = (sInstance.value(forKey: "fullName") as? String ?? "").split(separator: " ")
    contact.setValue(words.first.map(String.init) ?? "", forKey: "firstName")
    contact.setValue(words.count > 1 ? words.dropFirst().joined(separator: " ") : nil, forKey: "lastName")
  }
}
