// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataPredicates

/// What PostgreSQL is told of texts that memory compares (`PredicateSQL+Candidates`).
@Suite("Comparisons of texts in ASCII")
struct TextComparisonTests {
  private let ascii = (0..<128).map { Unicode.Scalar(UInt8($0)) }

  @Test(
    "A text in ASCII is folded letter by letter",
    arguments: [[.caseInsensitive], [.diacriticInsensitive], [.caseInsensitive, .diacriticInsensitive]]
      as [ComparisonSyntax.Options])
  func folding(options: ComparisonSyntax.Options) {
    let comparison = TextComparison(options)
    var differing: [String] = []
    for first in ascii {
      for second in ascii {
        let text = String(String.UnicodeScalarView([first, second]))
        let bytes = text.utf8.map { options.contains(.caseInsensitive) && (65...90).contains($0) ? $0 + 32 : $0 }
        if Array(comparison.folded(text).utf8) != bytes { differing.append(text) }
      }
    }
    #expect(differing == [])
  }

  @Test("Three characters equal one in ASCII without being it")
  func equivalents() {
    let others = (128...0x10FFFF as ClosedRange<UInt32>).compactMap(Unicode.Scalar.init)
    let equal = others.filter { scalar in
      String(Character(scalar)).decomposedStringWithCanonicalMapping.utf8.allSatisfy { $0 < 128 }
    }
    #expect(equal == ["\u{37E}", "\u{1FEF}", "\u{212A}"])
    #expect(equal.map { String(Character($0)).precomposedStringWithCanonicalMapping } == [";", "`", "K"])
  }

  @Test("Of two characters in ASCII, only the end of a line is one")
  func lineEnds() {
    var joined: [String] = []
    for first in ascii {
      for second in ascii {
        let text = String(String.UnicodeScalarView([first, second]))
        if text.count != 2 { joined.append(text) }
      }
    }
    #expect(joined == ["\r\n"])
  }

  @Test("Texts are equal if the folded ones are", arguments: (0..<16).map { ComparisonSyntax.Options(rawValue: $0) })
  func equality(options: ComparisonSyntax.Options) {
    let comparison = TextComparison(options)
    let texts = [
      "", "a", "A", "ab", "aB", "[", "{", "@", "`", "i", "I", "k", "K", "\u{212A}", "\u{E9}", "e\u{301}", "E", "e",
      "\u{130}",
      "\u{131}", "\r\n", "ss", "\u{DF}", "a\u{0}b", "A\u{0}B",
    ]
    for left in texts {
      for right in texts {
        let areEqual = comparison.folded(left).unicodeScalars.elementsEqual(comparison.folded(right).unicodeScalars)
        #expect(comparison.areEqual(left, right) == areEqual, "\(left) \(right)")
      }
    }
  }
}
