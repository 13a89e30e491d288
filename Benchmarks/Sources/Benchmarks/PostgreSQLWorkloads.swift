// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPostgreSQL
import Foundation

/// Operations on a store in PostgreSQL, compared with the same reads and writes over libpq.
///
/// `SERVER` in the environment is the URL of a server: `Scripts/postgresql.sh run make bench BENCH="--only PostgreSQL"`. Without it
/// there are no such workloads.
enum PostgreSQLWorkloads {
  static let server = ProcessInfo.processInfo.environment["SERVER"]

  private static let withoutRows = "PostgreSQL: migration of a store without rows"

  static let all =
    server == nil
    ? []
    : [
      Workload(
        name: "PostgreSQL: insert and save", start: .empty, limit: 2, library: insert, byHand: PostgreSQLByHand.insert
      ),
      Workload(
        name: "PostgreSQL: batch insert", start: .empty, library: batchInsert, byHand: PostgreSQLByHand.insert),
      Workload(
        name: "PostgreSQL: fetch all, read one attribute", start: .empty, limit: 1.4, library: fetchAll,
        byHand: PostgreSQLByHand.fetchAll),
      Workload(
        name: "PostgreSQL: 10,000 faults", start: .empty, limit: 1.2, library: faults, byHand: PostgreSQLByHand.faults),
      Workload(
        name: "PostgreSQL: to-one, prefetched", start: .empty, limit: 1.4, library: prefetched,
        byHand: PostgreSQLByHand.prefetched),
      Workload(name: "PostgreSQL: opening", start: .empty, library: open, byHand: PostgreSQLByHand.open),
      // The cost of a migration apart from rows: connecting, reading the catalogue, planning, and writing the model.
      Workload(
        name: withoutRows, start: .empty, library: { _ in try addAttribute(noteCount: 0) },
        byHand: { _ in try PostgreSQLByHand.addAttribute(noteCount: 0) }),
      Workload(
        name: "PostgreSQL: add attribute with default", start: .empty, limit: 1.1, fixedCost: withoutRows,
        library: { try addAttribute(noteCount: $0.noteCount) },
        byHand: { try PostgreSQLByHand.addAttribute(noteCount: $0.noteCount) }),
    ]

  /// A store of its own in a schema, with notes and an attachment for each of the first 10,000, for one measurement.
  struct Store {
    let schema = "bench\(UInt32.random(in: 0...UInt32.max))"
    var url: URL { URL(string: "\(PostgreSQLWorkloads.server ?? "")&schema=\(schema)")! }

    init(noteCount: Int, attachments: Int = 0) throws {
      let context = try context()
      guard noteCount > 0 else { return }
      var random = Random(seed: 7)
      try context.performAndWait {
        var last: NSManagedObject?
        for number in 1...noteCount {
          let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
          ObjectWorkloads.fill(note, with: DataSet.Note(number: number, &random))
          if number <= attachments {
            last = NSEntityDescription.insertNewObject(forEntityName: "Attachment", into: context)
            last?.setValue(note, forKey: "note")
          }
          if number % 20_000 == 0 {
            try context.save()
            context.reset()
          }
        }
        try context.save()
      }
    }

    func context(_ model: NSManagedObjectModel = NotesModel.first(), migrates: Bool = false) throws
      -> NSManagedObjectContext
    {
      let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
      try coordinator.addPersistentStore(
        type: .postgreSQL, at: url,
        options: migrates
          ? [NSMigratePersistentStoresAutomaticallyOption: true, NSInferMappingModelAutomaticallyOption: true] : nil)
      let context = NSManagedObjectContext(.privateQueue)
      context.persistentStoreCoordinator = coordinator
      return context
    }

    func measured(_ work: (NSManagedObjectContext) throws -> Void) throws -> Measurement {
      let context = try context()
      // The first use of a connection is not measured, and not by hand either.
      _ = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Tag"))
      return try context.performAndWait { try Measurement.of { try work(context) } }
    }
  }

  @Sendable private static func insert(_ place: Workload.Place) throws -> Measurement {
    let notes = ObjectWorkloads.notes(place)
    return try Store(noteCount: 0).measured { context in
      guard let entity = NSEntityDescription.entity(forEntityName: "Note", in: context) else { return }
      for note in notes { ObjectWorkloads.fill(NSManagedObject(entity: entity, insertInto: context), with: note) }
      try context.save()
    }
  }

  @Sendable private static func batchInsert(_ place: Workload.Place) throws -> Measurement {
    let notes = ObjectWorkloads.notes(place)
    return try Store(noteCount: 0).measured { context in
      var next = 0
      let request = NSBatchInsertRequest(entityName: "Note") { (object: NSManagedObject) in
        if next == notes.count { return true }
        ObjectWorkloads.fill(object, with: notes[next])
        next += 1
        return false
      }
      try context.execute(request)
    }
  }

  @Sendable private static func fetchAll(_ place: Workload.Place) throws -> Measurement {
    try Store(noteCount: place.noteCount).measured { context in
      try ObjectWorkloads.check(
        length(of: context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))) > 0)
    }
  }

  @Sendable private static func faults(_ place: Workload.Place) throws -> Measurement {
    try Store(noteCount: ObjectWorkloads.count).measured { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
      request.includesPropertyValues = false
      try ObjectWorkloads.check(length(of: context.fetch(request)) > 0)
    }
  }

  @Sendable private static func prefetched(_ place: Workload.Place) throws -> Measurement {
    try Store(noteCount: ObjectWorkloads.count, attachments: ObjectWorkloads.count).measured { context in
      let request = NSFetchRequest<NSManagedObject>(entityName: "Attachment")
      request.relationshipKeyPathsForPrefetching = ["note"]
      let notes = try context.fetch(request).map { $0.value(forKey: "note") as? NSManagedObject }
      try ObjectWorkloads.check(length(of: notes) > 0)
    }
  }

  /// The length of the titles of notes.
  private static func length(of notes: [NSManagedObject?]) -> Int {
    notes.reduce(0) { $0 + (($1?.value(forKey: "title") as? String)?.utf8.count ?? 0) }
  }

  @Sendable private static func open(_ place: Workload.Place) throws -> Measurement {
    let store = try Store(noteCount: 0)
    return try Measurement.of { _ = try store.context() }
  }

  private static func addAttribute(noteCount: Int) throws -> Measurement {
    let store = try Store(noteCount: noteCount)
    return try Measurement.of { _ = try store.context(NotesModel.withRequired(), migrates: true) }
  }
}
