// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// Makes a first and a last name of the full name that a contact had.
final class SplitName: NSEntityMigrationPolicy {
  override func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    // The attributes that are mapped as they are, and the association by which messages find their sender again.
    try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
    let contact = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance])[0]

    let words = (sInstance.value(forKey: "fullName") as? String ?? "").split(separator: " ")
    contact.setValue(words.first.map(String.init) ?? "", forKey: "firstName")
    contact.setValue(words.count > 1 ? words.dropFirst().joined(separator: " ") : nil, forKey: "lastName")
  }
}
