// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@Suite("The text of SwiftData's guide")
struct GuideTextTests {
  private let catalog = GuideCatalog("Sources/SwiftData/SwiftData.docc", testsBeside: #filePath)

  @Test("Every block of code is compiled and run by a test, and none is missing")
  func code() throws {
    #expect(try catalog.problemsOfCode() == [])
    #expect(try catalog.snippets().count > 30)
  }

  @Test("Links lead to articles, and every article is on the first page")
  func links() throws {
    #expect(try catalog.problemsOfLinks(from: "SwiftData") == [])
  }

  @Test("Every message and every output is one of a test")
  func messages() throws {
    let tests = try catalog.testTexts().joined(separator: "\n").replacingOccurrences(of: "\\\"", with: "\"")
    var count = 0
    for article in try catalog.articles() {
      for block in GuideCatalog.blocks(of: article.text, in: "text") {
        for line in block.components(separatedBy: "\n").map({ $0.trimmingCharacters(in: .whitespaces) }) {
          // Not in the condition, whose values a failure would print.
          let isTested = tests.contains(line)
          #expect(isTested, "\(article.name) has a line that no test has: \(line)")
        }
        count += 1
      }
    }
    #expect(count > 15)
  }
}
