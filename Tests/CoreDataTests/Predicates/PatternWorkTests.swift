// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData
@testable import CoreDataPredicates

@Suite("Regular expressions that take too long")
struct PatternWorkTests {
  /// A string for which the pattern takes as long as a match may.
  private static let text = String(repeating: "a", count: 40) + "!"

  /// A pattern of its own, so that tests do not share an allowance.
  private static func pattern() -> String { "(a+)+(\(UUID().uuidString))?$" }

  @Test("Memory gives such a pattern up, and names it")
  func memory() throws {
    let pattern = Self.pattern()
    let predicate = NSPredicate(format: "SELF MATCHES %@", pattern)
    let error = #expect(throws: NSError.self) {
      // Far more than the allowance; hours, if there were none.
      for _ in 0..<10_000 { _ = try predicate.checkedEvaluate(with: Self.text) }
    }
    let words = "\(error?.userInfo ?? [:])"
    #expect(words.contains(pattern))
    // A function of Foundation cannot throw.
    #expect(!predicate.evaluate(with: Self.text))
  }

  @Test("A fetch in a store gives such a pattern up, and the context works on")
  func fetch() throws {
    let pattern = Self.pattern()
    var builder = ModelBuilder()
    builder.entity("Note", [.make("title", .stringAttributeType)])
    let store = try TemporaryStore()
    let context = try store.context(builder.model())
    for _ in 0..<500 { context.make("Note", ["title": Self.text]) }
    try context.save()
    let request = NSFetchRequest<NSManagedObject>(entityName: "Note")
    request.predicate = NSPredicate(format: "title MATCHES %@", pattern)
    let error = #expect(throws: NSError.self) { try context.fetch(request) }
    let words = "\(error?.userInfo ?? [:])"
    #expect(words.contains(pattern))
    request.predicate = NSPredicate(format: "title MATCHES %@", "a+!")
    #expect(try context.fetch(request).count == 500)
  }

  @Test("A pattern may take its time for long strings")
  func longStrings() throws {
    let text = String(repeating: "abc ", count: 50_000)
    for _ in 0..<20 { #expect(try TextComparison().matches(text, pattern: "[abc ]+")) }
  }
}
