// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import PostgreSQLTestServer
import Synchronization
import Testing

@testable import CoreData

/// The rows that are read for a predicate that SQL cannot express.
@Suite("Candidates of predicates that memory evaluates", .serialized)
struct CandidateTests {
  private static let servers = StoreKind.servers
  private let noteCount = 1_000

  private static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let note = builder.entity(
      "Note",
      [
        .make("title", .stringAttributeType), .make("number", .integer64AttributeType),
        .make("length", .doubleAttributeType),
      ])
    note.managedObjectClassName = NSStringFromClass(CountedNote.self)
    builder.entity("Topic", [.make("name", .stringAttributeType)])
    builder.relate(RelationshipEnd("Note", "topic"), RelationshipEnd("Topic", "notes", toMany: true))
    return builder.model()
  }

  /// A store with notes, one of which has a title with an accent, and one of which has none.
  private func bench(_ kind: StoreKind) throws -> StoreKindBench {
    let bench = try StoreKindBench(kind, Self.model)
    let context = bench.context()
    let topics = (0..<10).map { context.make("Topic", ["name": "Topic \($0)"]) }
    for number in 0..<noteCount {
      let title = number == 500 ? "Títle 500" : "Title \(number)"
      let note = context.make("Note", ["number": number, "length": Double(number) / 2, "topic": topics[number % 10]])
      if number != 501 { note["title"] = title }
    }
    try context.save()
    try bench.reopen()
    return bench
  }

  /// Runs a body, and returns how many notes were read for it.
  private func reads(_ body: () throws -> Void) throws -> Int {
    CountedNote.readCount.withLock { $0 = 0 }
    try body()
    return CountedNote.readCount.withLock { $0 }
  }

  private func number(_ object: Any?) -> Int { ((object as? NSManagedObject)?["number"] as? Int) ?? -1 }

  private func request(_ predicate: NSPredicate) -> NSFetchRequest<NSManagedObject> {
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = predicate
    request.sortDescriptors = [NSSortDescriptor(key: "number", ascending: true)]
    return request
  }

  @Test(
    "Of a conjunction, only the rows are read that meet the parts which SQL expresses", .needsPostgreSQL,
    arguments: servers)
  func conjunction(kind: StoreKind) throws {
    let bench = try bench(kind)
    let predicate = NSPredicate(
      format: "title MATCHES %@ AND number >= 990 AND topic.name != 'Topic 3'", "Title 99[3-5]")
    var found: [Int] = []
    let count = try reads {
      found = try bench.context().fetch(request(predicate)).map { number($0) }
    }
    #expect(found == [994, 995])
    #expect(count == 9)
  }

  @Test("An offset and a limit count what memory has found, in its order", .needsPostgreSQL, arguments: servers)
  func limit(kind: StoreKind) throws {
    let bench = try bench(kind)
    let request = request(NSPredicate(format: "title MATCHES 'Title 9.*[02468]' AND number BETWEEN {900, 949}"))
    request.sortDescriptors = [
      NSSortDescriptor(key: "title", ascending: false, selector: "localizedStandardCompare:")
    ]
    (request.fetchOffset, request.fetchLimit) = (2, 3)
    var found: [Int] = []
    let count = try reads { found = try bench.context().fetch(request).map { number($0) } }
    #expect(found == [944, 942, 940])
    #expect(count == 50)
  }

  @Test("Counts, identifiers, dictionaries and batch requests read the same rows", .needsPostgreSQL, arguments: servers)
  func otherResults(kind: StoreKind) throws {
    let bench = try bench(kind)
    let predicate = NSPredicate(format: "number < 20 AND title MATCHES 'Title 1.'")
    let identifiers = NSFetchRequest<NSManagedObjectID>(entityName: "Note")
    identifiers.predicate = predicate
    identifiers.resultType = .managedObjectIDResultType
    let dictionaries = NSFetchRequest<NSDictionary>(entityName: "Note")
    dictionaries.predicate = predicate
    dictionaries.resultType = .dictionaryResultType
    dictionaries.propertiesToFetch = ["number"]
    let update = NSBatchUpdateRequest(entityName: "Note")
    update.predicate = predicate
    update.propertiesToUpdate = ["length": -1]
    update.resultType = .updatedObjectsCountResultType
    let fetch = NSFetchRequest<any NSFetchRequestResult>(entityName: "Note")
    fetch.predicate = predicate
    let delete = NSBatchDeleteRequest(fetchRequest: fetch)
    delete.resultType = .resultTypeCount
    let answers: [(String, (NSManagedObjectContext) throws -> Int?)] = [
      ("count", { try $0.count(for: request(predicate)) }),
      ("identifiers", { try $0.fetch(identifiers).count }),
      ("dictionaries", { try $0.fetch(dictionaries).count }),
      ("update", { (try $0.execute(update) as? NSBatchUpdateResult)?.result as? Int }),
      ("delete", { (try $0.execute(delete) as? NSBatchDeleteResult)?.result as? Int }),
    ]
    for (name, answer) in answers {
      var found: Int?
      let count = try reads { found = try answer(bench.context()) }
      #expect(found == 10, "\(name)")
      #expect(count == 20, "\(name)")
    }
    #expect(try bench.context().all("Note", by: "number").count == noteCount - 10)
  }

  @Test(
    "Of texts compared without case, those in ASCII are compared by the server", .needsPostgreSQL,
    arguments: servers,
    [
      // The note with the accent is always read, and the one without a title never.
      ("title ==[c] 'tITLE 17'", 1, 2), ("title BEGINSWITH[c] 'tITLE 99'", 11, 12),
      ("title LIKE[cd] 'tITLE 5?0'", 10, 10), ("title ENDSWITH[c] 'E 17'", 1, 2),
      ("title IN[c] {'tITLE 17', 'tITLE 18'}", 2, 3), ("title CONTAINS[c] 'E 17'", 11, 12),
      ("title >=[c] 'tITLE 99'", 12, 12), ("title BETWEEN[c] {'tITLE 990', 'tITLE 991'}", 2, 3),
      // A pattern begins with what an index finds.
      ("title LIKE 'Title 99?'", 10, 10), ("title LIKE '*9?9'", 10, 11),
      ("NOT (title LIKE '*')", 1, 2), ("number < 5 OR title ==[c] 'tITLE 17'", 6, 7),
    ])
  func texts(kind: StoreKind, expectation: (format: String, found: Int, read: Int)) throws {
    let bench = try bench(kind)
    let request = request(NSPredicate(format: expectation.format))
    var found = 0
    let count = try reads { found = try bench.context().fetch(request).count }
    #expect(found == expectation.found, "\(expectation.format)")
    #expect(count == expectation.read, "\(expectation.format)")
  }

  @Test("Beside a block, the other parts of a conjunction choose the rows", arguments: [.sqlite] + servers)
  func block(kind: StoreKind) throws {
    let bench = try bench(kind)
    let block = NSPredicate { object, _ in number(object) % 2 == 0 }
    let predicate = NSCompoundPredicate(
      andPredicateWithSubpredicates: [
        block, NSCompoundPredicate(andPredicateWithSubpredicates: [NSPredicate(format: "number >= 990"), block]),
      ])
    var found: [Int] = []
    let count = try reads { found = try bench.context().fetch(request(predicate)).map { number($0) } }
    #expect(found == [990, 992, 994, 996, 998])
    #expect(count == 10)
  }

  @Test("Unsaved changes decide as before, also those of other objects", .needsPostgreSQL, arguments: servers)
  func unsavedChanges(kind: StoreKind) throws {
    let bench = try bench(kind)
    let context = bench.context()
    let byNumber = NSPredicate(format: "number >= 990 AND title MATCHES 'Title .*'")
    let first = try #require(context.all("Note", by: "number", where: NSPredicate(format: "number == 0")).first)
    first["number"] = 2_000
    #expect(try context.fetch(request(byNumber)).map { number($0) } == Array(990..<1_000) + [2_000])
    let topic = try #require(context.all("Topic", where: NSPredicate(format: "name == 'Topic 7'")).first)
    topic["name"] = "Other"
    let byTopic = NSPredicate(format: "topic.name == 'Other' AND title MATCHES 'Title .*'")
    #expect(try context.fetch(request(byTopic)).count == 100)
  }

  @Test("Where the server's calculation fails, memory has all rows", .needsPostgreSQL, arguments: servers)
  func failingCalculation(kind: StoreKind) throws {
    let bench = try bench(kind)
    let predicate = NSPredicate(format: "number / number == 1 AND title MATCHES 'Title 1.'")
    var found = 0
    let count = try reads { found = try bench.context().fetch(request(predicate)).count }
    #expect(found == 10)
    #expect(count == noteCount)
  }
}

/// A note that counts the rows whose values are looked at.
final class CountedNote: NSManagedObject {
  static let readCount = Mutex(0)

  override func awakeFromFetch() { Self.readCount.withLock { $0 += 1 } }
}
