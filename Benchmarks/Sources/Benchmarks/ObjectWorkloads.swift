// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// Common operations on objects, compared with the same reads and writes by hand.
enum ObjectWorkloads {
  /// The number of objects in workloads of a fixed size, whatever the size of the store.
  static let count = 10_000

  static let all = [
    Workload(name: "insert and save", start: .empty, limit: 1.8, library: insert, byHand: ObjectWorkByHand.insert),
    Workload(
      name: "insert by thousands", start: .empty, library: insertByThousands,
      byHand: ObjectWorkByHand.insertByThousands),
    Workload(name: "batch insert", start: .empty, limit: 1.3, library: batchInsert, byHand: ObjectWorkByHand.insert),
    Workload(name: "fetch all", start: .notes, library: fetchAll, byHand: ObjectWorkByHand.fetchAll),
    Workload(
      name: "fetch all, read one attribute", start: .notes, limit: 1.3, library: fetchAllAndReadOne,
      byHand: ObjectWorkByHand.fetchAll),
    Workload(
      name: "fetch all, read every attribute", start: .notes, limit: 1.8, library: fetchAllAndReadEvery,
      byHand: ObjectWorkByHand.fetchAll),
    Workload(name: "predicate, sort, limit", start: .notes, limit: 1.0, library: query, byHand: ObjectWorkByHand.query),
    Workload(name: "count", start: .notes, library: countMatching, byHand: ObjectWorkByHand.countMatching),
    Workload(
      name: "limited fetch, 1,000 unsaved", start: .notes, limit: 1.3, library: queryWithUnsaved,
      byHand: ObjectWorkByHand.queryWithUnsaved),
    Workload(
      name: "count, 1,000 unsaved", start: .notes, limit: 1.3, library: countWithUnsaved,
      byHand: ObjectWorkByHand.countWithUnsaved),
    Workload(name: "update 10,000", start: .notes, limit: 1.8, library: update, byHand: ObjectWorkByHand.update),
    Workload(
      name: "delete 10,000", start: .notes, limit: 1.2, library: delete, byHand: ObjectWorkByHand.deleteWithVersions),
    Workload(
      name: "delete 10,000, by hand without versions", start: .notes, library: delete, byHand: ObjectWorkByHand.delete),
    Workload(name: "to-one, lazily", start: .notes, limit: 2.0, library: lazily, byHand: ObjectWorkByHand.lazily),
    Workload(
      name: "to-one, prefetched", start: .notes, limit: 1.3, library: prefetched, byHand: ObjectWorkByHand.prefetched),
    // The limit is 0.75 of what GRDB takes, which is 3.5 times the loop.
    Workload(
      name: "to-many, prefetched", start: .empty, limit: 2.6, library: members, byHand: ObjectWorkByHand.members),
    Workload(
      name: "value(forKey:), 1,000,000", start: .notes, secondsLimit: 0.08, library: readValues,
      byHand: ObjectWorkByHand.readValues),
    Workload(
      name: "typed reads, 1,000,000", start: .notes, secondsLimit: 0.03, library: readTypedNumbers,
      byHand: ObjectWorkByHand.readValues),
    Workload(
      name: "typed dates, 1,000,000", start: .notes, secondsLimit: 0.03, library: readTypedDates,
      byHand: ObjectWorkByHand.readValues),
    Workload(
      name: "typed strings, 1,000,000", start: .notes, secondsLimit: 0.03, library: readTypedStrings,
      byHand: ObjectWorkByHand.readValues),
  ]

  @Sendable static func insert(_ place: Workload.Place) throws -> Measurement {
    let notes = notes(place)
    return try withContext(place) { context, entity in
      for note in notes { fill(NSManagedObject(entity: entity, insertInto: context), with: note) }
      try context.save()
    }
  }

  /// Imports with bounded memory: a save and a reset after every thousand objects.
  @Sendable private static func insertByThousands(_ place: Workload.Place) throws -> Measurement {
    var random = Random(seed: 7)
    return try withContext(place) { context, entity in
      for number in 1...place.noteCount {
        fill(
          NSManagedObject(entity: entity, insertInto: context), with: DataSet.Note(number: number, &random))
        if number % 1_000 == 0 {
          try context.save()
          context.reset()
        }
      }
      try context.save()
    }
  }

  @Sendable private static func batchInsert(_ place: Workload.Place) throws -> Measurement {
    let notes = notes(place)
    return try withContext(place) { context, entity in
      var next = 0
      let request = NSBatchInsertRequest(entity: entity) { values in
        if next == notes.count { return true }
        let note = notes[next]
        values["title"] = note.title
        values["body"] = note.body
        values["fullName"] = note.fullName
        values["dateCreated"] = Date(timeIntervalSinceReferenceDate: note.dateCreated)
        values["displayIndex"] = Int(note.displayIndex)
        next += 1
        return false
      }
      request.resultType = .count
      let result = try context.execute(request) as? NSBatchInsertResult
      try check(result?.result as? Int == notes.count)
    }
  }

  static func fill(_ object: NSManagedObject, with note: DataSet.Note) {
    object.setValue(note.title, forKey: "title")
    object.setValue(note.body, forKey: "body")
    object.setValue(note.fullName, forKey: "fullName")
    object.setValue(Date(timeIntervalSinceReferenceDate: note.dateCreated), forKey: "dateCreated")
    object.setValue(Int(note.displayIndex), forKey: "displayIndex")
  }

  static func notes(_ place: Workload.Place) -> [DataSet.Note] {
    var random = Random(seed: 7)
    return (1...min(place.noteCount, 100_000)).map { DataSet.Note(number: $0, &random) }
  }

  @Sendable private static func fetchAll(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context, _ in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.returnsObjectsAsFaults = false
      let objects = try context.fetch(request)
      try check(objects.count == place.noteCount)
    }
  }

  @Sendable private static func fetchAllAndReadOne(_ place: Workload.Place) throws -> Measurement {
    try fetchAll(place, reading: ["title"])
  }

  @Sendable static func fetchAllAndReadEvery(_ place: Workload.Place) throws -> Measurement {
    try fetchAll(place, reading: ["title", "body", "fullName", "dateCreated", "displayIndex"])
  }

  private static func fetchAll(_ place: Workload.Place, reading keys: [String]) throws -> Measurement {
    try withContext(place) { context, _ in
      var values = 0
      for object in try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) {
        for key in keys where object.value(forKey: key) != nil { values += 1 }
      }
      try check(values == place.noteCount * keys.count)
    }
  }

  @Sendable static func query(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context, _ in try query(context) }
  }

  private static func query(_ context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "displayIndex > %d AND fullName == %@", 100, "Ada Boris")
    request.sortDescriptors = [NSSortDescriptor(key: "dateCreated", ascending: false)]
    request.fetchLimit = 100
    request.returnsObjectsAsFaults = false
    try check(!context.fetch(request).isEmpty)
  }

  @Sendable private static func countMatching(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context, _ in try countMatching(context) }
  }

  private static func countMatching(_ context: NSManagedObjectContext) throws {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "fullName == %@", "Ada Boris")
    try check(context.count(for: request) > 0)
  }

  @Sendable private static func queryWithUnsaved(_ place: Workload.Place) throws -> Measurement {
    try withContext(place, prepare: insertUnsaved) { context, _ in try query(context) }
  }

  @Sendable private static func countWithUnsaved(_ place: Workload.Place) throws -> Measurement {
    try withContext(place, prepare: insertUnsaved) { context, _ in try countMatching(context) }
  }

  private static func insertUnsaved(_ context: NSManagedObjectContext, _ entity: NSEntityDescription) {
    for note in unsavedNotes() { fill(NSManagedObject(entity: entity, insertInto: context), with: note) }
    context.processPendingChanges()
  }

  static func unsavedNotes() -> [DataSet.Note] {
    var random = Random(seed: 8)
    return (1...1_000).map { DataSet.Note(number: $0, &random) }
  }

  @Sendable static func update(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context, _ in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.fetchLimit = count
      for object in try context.fetch(request) { object.setValue("changed", forKey: "title") }
      try context.save()
    }
  }

  @Sendable static func delete(_ place: Workload.Place) throws -> Measurement {
    try withContext(place) { context, _ in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Attachment")
      request.fetchLimit = count
      for object in try context.fetch(request) { context.delete(object) }
      try context.save()
    }
  }

  @Sendable private static func lazily(_ place: Workload.Place) throws -> Measurement {
    try traverse(place, prefetching: nil)
  }

  @Sendable private static func prefetched(_ place: Workload.Place) throws -> Measurement {
    try traverse(place, prefetching: ["note"])
  }

  private static func traverse(_ place: Workload.Place, prefetching keyPaths: [String]?) throws -> Measurement {
    try withContext(place) { context, _ in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Attachment")
      request.fetchLimit = count
      request.relationshipKeyPathsForPrefetching = keyPaths
      var length = 0
      for object in try context.fetch(request) {
        let note = object.value(forKey: "note") as? NSManagedObject
        length += (note?.value(forKey: "title") as? String)?.utf8.count ?? 0
      }
      try check(length > 0)
    }
  }

  /// Reads the ten members of each of a thousand objects.
  @Sendable private static func members(_ place: Workload.Place) throws -> Measurement {
    try ObjectWorkByHand.makeMembers(place)
    return try withContext(place) { context, _ in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.relationshipKeyPathsForPrefetching = ["attachments"]
      var length = 0
      for note in try context.fetch(request) {
        for member in note.value(forKey: "attachments") as? Set<NSManagedObject> ?? [] {
          length += (member.value(forKey: "caption") as? String)?.utf8.count ?? 0
        }
      }
      try check(length == ObjectWorkByHand.lengthOfMembers)
    }
  }

  /// Reads one attribute of objects that are no faults, again and again.
  @Sendable private static func readValues(_ place: Workload.Place) throws -> Measurement {
    try read(place) { $0.value(forKey: "displayIndex") != nil }
  }

  @Sendable static func readTypedNumbers(_ place: Workload.Place) throws -> Measurement {
    let property = ManagedProperty<Int64>("displayIndex")
    return try read(place) { property[$0] >= 0 }
  }

  @Sendable private static func readTypedDates(_ place: Workload.Place) throws -> Measurement {
    let property = ManagedProperty<Date?>("dateCreated")
    return try read(place) { property[$0] != nil }
  }

  @Sendable static func readTypedStrings(_ place: Workload.Place) throws -> Measurement {
    let property = ManagedProperty<String?>("title")
    return try read(place) { property[$0] != nil }
  }

  /// Reads a value of a thousand objects with decoded values, a thousand times.
  private static func read(
    _ place: Workload.Place, _ hasValue: @escaping (NSManagedObject) -> Bool
  ) throws -> Measurement {
    var objects: [NSManagedObject] = []
    var context: NSManagedObjectContext?
    return try withContext(
      place,
      prepare: { it, _ in
        context = it
        let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
        request.fetchLimit = 1_000
        // Not measured, and failing here fails below.
        objects = (try? it.fetch(request)) ?? []
        for object in objects { object.setValue(object.value(forKey: "title"), forKey: "title") }
      }
    ) { _, _ in
      var values = 0
      for _ in 0..<1_000 {
        for object in objects where hasValue(object) { values += 1 }
      }
      try check(values == 1_000_000)
      withExtendedLifetime(context) {}
    }
  }

  /// Measures some work in a context, without opening and closing the store.
  private static func withContext(
    _ place: Workload.Place, prepare: (NSManagedObjectContext, NSEntityDescription) -> Void = { _, _ in },
    _ work: (NSManagedObjectContext, NSEntityDescription) throws -> Void
  ) throws -> Measurement {
    let model = NotesModel.first()
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let store = try coordinator.addPersistentStore(
      type: .sqlite, at: place.store,
      options: place.tracksHistory ? [NSPersistentHistoryTrackingKey: true as NSNumber] : nil)
    guard let entity = model.entitiesByName["Note"] else { throw Failure(text: "the model has no notes") }
    let context = NSManagedObjectContext(.privateQueue)
    context.persistentStoreCoordinator = coordinator
    let measurement = try context.performAndWait {
      prepare(context, entity)
      return try Measurement.of { try work(context, entity) }
    }
    try coordinator.remove(store)
    return measurement
  }

  static func check(_ holds: Bool) throws {
    if !holds { throw Failure(text: "the workload did not find the expected objects") }
  }
}
