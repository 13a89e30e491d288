// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import CoreDataSQLite
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

/// A class of an app that archives itself.
final class DefaultCover: NSObject, NSSecureCoding {
  static let supportsSecureCoding = true
  let title: String

  init(_ title: String) { self.title = title }

  init?(coder: NSCoder) {
    guard let title = coder.decodeObject(of: NSString.self, forKey: "title") else { return nil }
    self.title = title as String
  }

  func encode(with coder: NSCoder) { coder.encode(title as NSString, forKey: "title") }
}

@Suite("Default values that are objects of the app")
struct DefaultObjectTests {
  private func model(_ value: Any) -> NSManagedObjectModel {
    var builder = ModelBuilder()
    builder.entity(
      "Book", [.make("title", .stringAttributeType), .make("cover", .transformableAttributeType, default: value)])
    return builder.model()
  }

  @Test("A store can be made with such a model, carries the object, and gives it to new rows as it came")
  func archived() throws {
    let store = try TemporaryStore()
    let context = try store.context(model(DefaultCover("red")))
    context.make("Book", ["title": "a"])
    try context.save()
    try store.close()

    let carried = try #require(try SQLiteStore.carriedModel(at: store.url))
    let attribute = try #require(carried.entitiesByName["Book"]?.attributesByName["cover"])
    let kept = try #require(attribute.archivedDefault)
    #expect(kept.className.hasSuffix("DefaultCover"))
    #expect(attribute.defaultValue as? Data == kept.archive)
    // The model that was read writes the same object again.
    let again = try ModelCache.decode(ModelCache.encode(carried.document))
    #expect(again.entities[0].attributes.first { $0.name == "cover" }?.defaultValue == .object(OpaqueObject(kept)))
    #expect(
      (carried.copy() as? NSManagedObjectModel)?.entitiesByName["Book"]?.attributesByName["cover"]?.archivedDefault
        == kept)

    let later = try store.context(carried)
    later.make("Book", ["title": "b"])
    try later.save()
    try store.close()
    let connection = try SQLiteConnection(url: store.url, mode: .readOnly)
    let stored = try connection.rows("SELECT ZCOVER FROM ZBOOK ORDER BY ZTITLE").compactMap { $0[0].blob }
    try connection.close()
    #expect(stored.count == 2)
    for data in stored {
      let cover = try NSKeyedUnarchiver.unarchivedObject(ofClass: DefaultCover.self, from: data)
      #expect(cover?.title == "red")
    }
  }

  @Test("An object that cannot archive itself is an error that names entity and attribute, and no file is left")
  func unarchivable() throws {
    final class Own: NSObject {}
    let store = try TemporaryStore()
    let error = try #require(throws: NSError.self) { try store.context(model(Own())) }
    #expect("\(error.localizedDescription) \(error.localizedFailureReason ?? "")".contains("Book.cover"), "\(error)")
    #expect(try store.files().isEmpty)
  }
}
