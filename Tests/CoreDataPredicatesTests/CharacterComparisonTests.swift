// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPredicates

@Suite("Strings compared as Swift compares them")
struct CharacterComparisonTests {
  private let comparison = TextComparison(.characters)
  private let texts = [
    "", "a", "e", "é", "e\u{301}", "K", "\u{212A}", "\n", "\r\n", "a\r\n", "ß", "가", "\u{1100}\u{1161}",
  ]

  @Test("Equality and order are those of String")
  func equality() {
    for left in texts {
      for right in texts {
        #expect(comparison.areEqual(left, right) == (left == right))
        #expect((comparison.order(left, right) == .orderedAscending) == (left < right))
        #expect(
          (comparison.folded(left).unicodeScalars.elementsEqual(comparison.folded(right).unicodeScalars))
            == (left == right))
      }
    }
  }

  @Test("A string contains and begins with characters, not parts of them")
  func characters() {
    #expect(!comparison.contains("e\u{301}", "e"))
    #expect(comparison.contains("xe\u{301}", "\u{E9}"))
    #expect(!comparison.contains("a\r\n", "\n"))
    #expect(comparison.contains("a", ""))
    #expect(!comparison.begins("e\u{301}x", with: "e"))
    #expect(comparison.begins("e\u{301}x", with: "\u{E9}"))
    #expect(TextComparison().contains("e\u{301}", "e"))
  }

  @Test("Other options choose the methods of Foundation")
  func options() {
    #expect(TextComparison([.characters, .caseInsensitive]).order("A", "a") == .orderedSame)
    #expect(TextComparison([.characters, .caseInsensitive]).areEqual("STRASSE", "strasse"))
    let search = TextComparison([.characters, .caseInsensitive, .diacriticInsensitive, .localeSensitive])
    #expect(search.contains("Crème", "CREME"))
    #expect(!search.contains("Crème", "x"))
  }
}
