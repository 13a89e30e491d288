// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataTesting

@Suite("Texts that match regular expressions")
struct PatternSampleTests {
  @Test(
    "Samples match, and differ",
    arguments: [
      "WS-[0-9]{4}-[0-9]{4}", "[A-Z]{2}[0-9]+", "^\\+?[0-9 ()-]{7,}$", "[a-z0-9._%+-]+@[a-z0-9.-]+\\.[a-z]{2,4}",
      "(red|green|blue)", "#[0-9a-fA-F]{6}", "\\d{4}-\\d{2}-\\d{2}", "[^@]+@[^@]+", "([A-Z][a-z]+ ?){2}", ".{3,10}",
      "\\w+", "a(b(c|d)*)?e", "[\\w-]{5}", "^(WS|XY)-[0-9]{4}-\\d{4}(/[A-Z]+)?$", "(?:v)?[0-9]+\\.[0-9]+",
    ])
  func samples(pattern: String) throws {
    let expression = try NSRegularExpression(pattern: "^(?:\(pattern))$")
    var seen: Set<String> = []
    for number in 0..<50 {
      let text = PatternSample.text(pattern, number)
      let range = NSRange(text.startIndex..., in: text)
      #expect(expression.firstMatch(in: text, range: range) != nil, "\(pattern): \(text)")
      seen.insert(text)
    }
    #expect(seen.count > 1 || !pattern.contains("["))
  }

  @Test(
    "A pattern that is no regular expression gives some text",
    arguments: ["(", ")", "[", "]", "{", "a{", "\\", "*", "(?", "[z-a]", "a{9999999}", "", "|", "((((", "[^"])
  func broken(pattern: String) {
    #expect(PatternSample.text(pattern, 3).count < 1000)
  }
}
