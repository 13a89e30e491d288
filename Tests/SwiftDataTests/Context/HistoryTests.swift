// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

@Model
private final class Grave {
  @Attribute(.preserveValueOnDeletion) var count: Int
  @Attribute(.preserveValueOnDeletion) var size: UInt64
  @Attribute(.preserveValueOnDeletion) var price: Double
  @Attribute(.preserveValueOnDeletion) var ratio: Float
  @Attribute(.preserveValueOnDeletion) var isDone: Bool
  @Attribute(.preserveValueOnDeletion) var sum: Decimal?
  @Attribute(.preserveValueOnDeletion) var tags: [String]
  @Attribute(.preserveValueOnDeletion) var places: [String: Int]

  init() {
    (count, size, price, ratio, isDone, sum) = (3, .max, 5, 0.5, true, 1.5)
    (tags, places) = (["t"], ["a": 1])
  }
}

@Suite("History of models")
struct HistoryTests {
  private let container: ModelContainer
  private let context: ModelContext

  /// Four transactions: two folders inserted, one by another author, one changed, one deleted.
  init() throws {
    container = try makeContainer()
    context = ModelContext(container)
    context.author = "me"
    let (first, second) = (Folder(name: "first"), Folder(name: "second"))
    second.key = "kept"
    context.insert(first)
    context.insert(second)
    try context.save()
    let other = ModelContext(container)
    other.author = "other"
    other.insert(Folder(name: "third"))
    try other.save()
    first.name = "changed"
    try context.save()
    context.delete(second)
    try context.save()
  }

  private func history(_ predicate: Predicate<DefaultHistoryTransaction>? = nil) throws -> [DefaultHistoryTransaction] {
    try context.fetchHistory(HistoryDescriptor(predicate: predicate))
  }

  @Test("Transactions have their authors and changes, with the changed properties and preserved values")
  func changes() throws {
    let history = try history()
    #expect(history.map(\.author) == ["me", "other", "me", "me"])
    #expect(history.map(\.changes.count) == [2, 1, 1, 1])
    guard case .update(let update)? = history[2].changes.first, case .delete(let deletion)? = history[3].changes.first
    else {
      Issue.record("The third transaction must be an update, the fourth a deletion.")
      return
    }
    let paths = try #require(update as? DefaultHistoryUpdate<Folder>).updatedAttributes
    #expect(paths.map { $0 as AnyKeyPath } == [\Folder.name])
    #expect(update.changedPersistentIdentifier.entityName == "Folder")
    let tombstone = try #require(deletion as? DefaultHistoryDelete<Folder>).tombstone
    #expect(tombstone[\.key] as? String == "kept" && tombstone[\.name] == nil && Array(tombstone).count == 1)
  }

  @Test("The values that history preserves have the types of the properties")
  func preserved() throws {
    let configuration = ModelConfiguration(isStoredInMemoryOnly: true)
    let context = ModelContext(try ModelContainer(for: Grave.self, configurations: configuration))
    let grave = Grave()
    context.insert(grave)
    try context.save()
    context.delete(grave)
    try context.save()
    let last = try context.fetchHistory(HistoryDescriptor<DefaultHistoryTransaction>()).last?.changes.first
    guard case .delete(let deletion)? = last, let deletion = deletion as? DefaultHistoryDelete<Grave> else {
      Issue.record("The last change must be a deletion.")
      return
    }
    let tombstone = deletion.tombstone
    #expect(tombstone[\.count] as? Int == 3 && tombstone[\.size] as? UInt64 == .max)
    #expect(tombstone[\.price] as? Double == 5 && tombstone[\.ratio] as? Float == 0.5)
    #expect(tombstone[\.isDone] as? Bool == true && tombstone[\.sum] as? Decimal == 1.5)
    #expect(tombstone[\.tags] as? [String] == ["t"] && tombstone[\.places] as? [String: Int] == ["a": 1])
  }

  @Test("History after a token or of an author is found by a condition")
  func conditions() throws {
    let token = try #require(try history().dropFirst().first?.token)
    #expect(try history(#Predicate { $0.token > token }).map(\.transactionIdentifier) == [3, 4])
    #expect(try history(#Predicate { $0.author == "other" }).map(\.transactionIdentifier) == [2])
    var descriptor = HistoryDescriptor<DefaultHistoryTransaction>(sortBy: [
      SortDescriptor(\.transactionIdentifier, order: .reverse)
    ])
    descriptor.fetchLimit = 3
    #expect(try context.fetchHistory(descriptor).map(\.transactionIdentifier) == [4, 3, 2])
    let data = try JSONEncoder().encode(token)
    #expect(try JSONDecoder().decode(DefaultHistoryToken.self, from: data) == token)
  }

  @Test("History is deleted from its beginning, and only from there")
  func deletion() throws {
    #expect {
      try context.deleteHistory(
        HistoryDescriptor<DefaultHistoryTransaction>(
          predicate: #Predicate { $0.author == "other" }))
    } throws: {
      SwiftDataError.invalidTransactionFetchRequest ~= $0 && "\($0)".contains("from its beginning")
    }
    #expect(try history().count == 4)
    try context.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(
        predicate: #Predicate { $0.transactionIdentifier < 3 }))
    #expect(try history().map(\.transactionIdentifier) == [3, 4])
    try context.deleteHistory(HistoryDescriptor<DefaultHistoryTransaction>())
    #expect(try history().isEmpty)
  }

  @Test("What follows a token is refused if a part of it was deleted, and given if not")
  func expiry() throws {
    let tokens = try history().map(\.token)
    try context.deleteHistory(
      HistoryDescriptor<DefaultHistoryTransaction>(predicate: #Predicate { $0.transactionIdentifier < 3 }))
    let (first, second, last) = (tokens[0], tokens[1], tokens[3])
    let kept: DefaultHistoryToken? = first
    for predicate in [
      #Predicate<DefaultHistoryTransaction> { $0.token > first },
      #Predicate { first < $0.token && $0.author == "other" },
      #Predicate { $0.author == "nobody" || $0.token >= first },
      #Predicate<DefaultHistoryTransaction> { made in if let kept { made.token > kept } else { true } },
    ] {
      let error = #expect(throws: SwiftDataError.self) { try history(predicate) }
      #expect(error == .historyTokenExpired)
      #expect(error?.explanation?.contains("Read the models again") == true)
    }
    // The transactions after the second one are all there.
    #expect(try history(#Predicate { $0.token > second }).map(\.transactionIdentifier) == [3, 4])
    #expect(try history(#Predicate { $0.token > last }).isEmpty)
    // Of what precedes a token, nothing is missed.
    #expect(try history(#Predicate { $0.token <= last }).map(\.transactionIdentifier) == [3, 4])
    #expect(try history(#Predicate { first >= $0.token }).isEmpty)
  }
}
