// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataSQLite
import CoreDataTestSupport
import Foundation

/// A library, for tests of batch requests and persistent history.
enum BatchSample {
  static func model() -> NSManagedObjectModel {
    var builder = ModelBuilder()
    let isbn = NSAttributeDescription.make("isbn", .stringAttributeType)
    isbn.preservesValueInHistoryOnDeletion = true
    let title = NSAttributeDescription.make("title", .stringAttributeType, optional: false)
    title.preservesValueInHistoryOnDeletion = true
    let book = builder.entity(
      "Book",
      [
        isbn, title, .make("pages", .integer16AttributeType, default: 1), .make("price", .decimalAttributeType),
        .make("tags", .transformableAttributeType), .make("scan", .binaryDataAttributeType, external: true),
        .make("bought", .dateAttributeType), .make("mood", .stringAttributeType, transient: true),
        .derived("search", .stringAttributeType, "canonical:(title)"),
      ])
    book.uniquenessConstraints = [["isbn"]]
    builder.entity("Comic", parent: "Book", [.make("colours", .integer32AttributeType)])
    builder.entity(
      "Author",
      [
        .make("name", .stringAttributeType), .derived("pages", .integer64AttributeType, "books.@sum.pages"),
        .derived("bookCount", .integer32AttributeType, "books.@count"),
      ])
    builder.entity("Chapter", [.make("number", .integer16AttributeType)])
    builder.entity("Loan", [.make("day", .integer32AttributeType)])
    builder.entity("Shelf", [.make("name", .stringAttributeType)])
    builder.entity("Label", [.make("name", .stringAttributeType)])
    builder.relate(.init("Author", "books", toMany: true), .init("Book", "author"))
    builder.relate(
      .init("Book", "chapters", toMany: true, ordered: true, rule: .cascadeDeleteRule),
      .init("Chapter", "book", optional: false))
    builder.relate(.init("Book", "loans", toMany: true, rule: .denyDeleteRule), .init("Loan", "book"))
    builder.relate(.init("Shelf", "books", toMany: true), .init("Book", "shelf", optional: false))
    builder.relate(.init("Book", "labels", toMany: true), .init("Label", "books", toMany: true))
    return builder.model()
  }
}

extension TemporaryStore {
  /// The rows that a query finds in the file.
  func table(_ sql: String) throws -> [[SQLiteValue]] {
    let connection = try SQLiteConnection(url: url, mode: .readOnly)
    defer { try? connection.close() }  // Nothing is written.
    return try connection.rows(sql).map(\.values)
  }
}
