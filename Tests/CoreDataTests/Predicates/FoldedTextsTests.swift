// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreData

@Suite("Texts in lists of predicates")
struct FoldedTextsTests {
  @Test(
    "A text is in a list as it is when it is compared with each element",
    arguments: [[], .caseInsensitive, .diacriticInsensitive, [.caseInsensitive, .diacriticInsensitive], .normalized]
      as [ComparisonSyntax.Options])
  func equality(_ options: ComparisonSyntax.Options) throws {
    let parts = [
      "a", "A", "\u{e4}", "a\u{308}", "\u{df}", "ss", "I", "\u{130}", "\u{fb01}", "\u{3c3}", "\u{3c2}", "\u{1e9e}", "",
    ]
    let texts = parts.flatMap { first in parts.map { first + $0 } }
    let comparison = TextComparison(options)
    // Other tests may have a list forgotten, whose elements are then compared.
    var answers = 0
    for start in stride(from: 0, to: texts.count - 12, by: 12) {
      let list = texts[start..<start + 12].map { PlainValue.string($0) }
      for text in texts {
        let expected = texts[start..<start + 12].contains { comparison.areEqual($0, text) }
        guard let answer = FoldedTexts.contains(text, in: list, options) else { continue }
        #expect(answer == expected, "\(text) in \(list)")
        answers += 1
      }
    }
    #expect(answers > 0)
  }

  @Test("Lists that are short, or have other values, are compared element by element")
  func others() throws {
    let numbers = (0..<20).map { PlainValue.integer($0) }
    #expect(FoldedTexts.contains("a", in: numbers, .caseInsensitive) == nil)
    #expect(FoldedTexts.contains("a", in: [.string("A")] + numbers, .caseInsensitive) == nil)
    #expect(FoldedTexts.contains("a", in: [.string("A")], .caseInsensitive) == nil)
    let mixed: [Any] = ["N1", 5, NSNull()] + (0..<20).map { "x\($0)" }
    for (value, expected) in [("n1", true), ("X3", true), ("n2", false)] as [(Any, Bool)] + [(5, true), (6, false)] {
      let predicate = NSPredicate(format: "SELF IN[c] %@", argumentArray: [mixed])
      #expect(predicate.evaluate(with: value) == expected, "\(value)")
    }
  }

  @Test("Lists are told apart, and several threads look values up in them")
  func lists() throws {
    let lists = (0..<8).map { number in (0..<40).map { PlainValue.string("N\($0 * 8 + number)") } }
    let failures = Guarded<[String]>([])
    inThreads(4) { thread in
      for value in stride(from: thread, to: 320, by: 4) {
        for (number, list) in lists.enumerated() {
          let answer = FoldedTexts.contains("n\(value)", in: list, .caseInsensitive)
          if let answer, answer != (value % 8 == number) { failures.update { $0.append("\(value) \(number)") } }
        }
      }
    }
    #expect(failures.value.isEmpty)
  }
}
