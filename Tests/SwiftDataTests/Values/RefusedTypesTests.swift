// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import SwiftData
import Testing

private enum Rule: Codable {
  case daily
  case weekly(day: Int)
}

private struct Plan: Codable {
  var name: String
  var rule: Rule
}

@Model
private final class Refused {
  var hours: ClosedRange<Int>
  var plan: Plan?

  init() { hours = 1...2 }
}

@Suite("Types that cannot be stored")
struct RefusedTypesTests {
  @Test("Each of them is named, with its part and the type of that")
  func refusedTogether() throws {
    let error = try #require(throws: SwiftDataError.self) {
      try ModelContainer(for: Refused.self, configurations: ModelConfiguration(isStoredInMemoryOnly: true))
    }
    #expect(error.entity == "Refused" && error.property == "hours")
    let words = "\(error)"
    #expect(
      words.contains(
        "Refused.hours cannot be stored: its type is Swift.ClosedRange<Swift.Int>, which decodes itself as a list, "
          + "without keys; @Attribute(.codable) stores it as a whole."), "\(words)")
    #expect(words.contains("Refused.plan cannot be stored: its type is ") && words.contains("Plan, whose"), "\(words)")
    #expect(words.contains("part 'rule' is of the type ") && words.contains("Rule, which has cases"), "\(words)")
  }
}
