// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Creates a store of the first version of the model, like the first release of the app.
///
/// `Done.sqlite` beside this package was created by it. Names and dates are the same every time; only the store's UUID
/// differs.
enum FirstStore {
  /// 2025-01-06 08:00 UTC.
  private static let start = Date(timeIntervalSince1970: 1_736_150_400)

  /// Items over about fifteen months.
  private static let work: [(verb: String, objects: [String])] = [
    ("Buy", ["bread", "coffee beans", "a light bulb", "stamps", "cat food", "olive oil", "batteries", "a card"]),
    ("Call", ["the dentist", "Mum", "the landlord", "the garage", "Aunt Irma", "the tax office", "the school", "Ben"]),
    ("Pay", ["the rent", "the gas bill", "the parking fine", "the phone bill", "for the concert", "the club's fee"]),
    ("Water", ["the tomatoes", "the ferns", "the neighbours' plants", "the window boxes", "the lemon tree"]),
    ("Repair", ["the bicycle tube", "the dripping tap", "the garden gate", "the kitchen drawer", "the coat's zip"]),
    ("Read", ["the lease", "chapter 4", "the minutes", "Nora's draft", "the manual of the boiler", "the meter"]),
    ("Write to", ["the insurance", "Grandpa", "the editor", "the council about the bins", "Jo about Saturday"]),
    ("Book", ["the ferry", "a table for six", "the vet", "two seats to Lyon", "the hall", "a haircut"]),
    ("Return", ["the library books", "the drill", "the blue shoes", "Tom's tent", "the empty bottles"]),
    ("Clean", ["the gutters", "the oven", "the windows", "the fish tank", "the cellar stairs", "the filter"]),
    ("Plan", ["the walk on Sunday", "Ada's birthday", "the move", "next week's meals", "the trip to the lake"]),
    ("Back up", ["the photos", "the laptop", "the phone", "the accounts"]),
  ]

  /// Creates the store.
  ///
  /// - Parameters:
  ///   - url: The location of the new store.
  ///   - count: The number of items.
  /// - Throws: 516 if the file already exists; the errors of saving.
  static func write(to url: URL, count: Int = 300) throws {
    guard !FileManager.default.fileExists(atPath: url.path) else {
      throw CocoaError(.fileWriteFileExists, userInfo: [NSFilePathErrorKey: url.path])
    }
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: try DoneModel.load(version: "Done"))
    // Without a write-ahead log, the store is a single file that can be kept in a repository.
    let store = try coordinator.addPersistentStore(
      type: .sqlite, at: url, options: [NSSQLitePragmasOption: ["journal_mode": "DELETE"]])
    let context = NSManagedObjectContext(.mainQueue)
    context.persistentStoreCoordinator = coordinator
    var numbers = RepeatableNumbers()
    var moment = start
    for index in 0..<count {
      let (verb, objects) = work[index % work.count]
      let item = NSEntityDescription.insertNewObject(forEntityName: "TSPItem", into: context)
      // Every verb uses its objects in turn, and starts over after the last.
      item.setValue("\(verb) \(objects[index / work.count % objects.count])", forKey: "name")
      item.setValue(moment, forKey: "createdAt")
      // Old items are mostly done, new ones mostly open.
      item.setValue(numbers.next(below: count) > index * 4 / 5, forKey: "done")
      moment += Double(600 + numbers.next(below: 2 * 36 * 3600))
    }
    try context.save()
    try coordinator.remove(store)
  }
}

/// Pseudorandom numbers that are the same every time.
private struct RepeatableNumbers {
  private var state: UInt64 = 20_250_106

  mutating func next(below limit: Int) -> Int {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return Int(state >> 33) % limit
  }
}
