// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Testing

@Suite("The text of the guide")
struct GuideTextTests {
  private let catalog = GuideCatalog("Sources/CoreData/CoreData.docc", testsBeside: #filePath)

  @Test("Every block of code is compiled and run by a test, and none is missing")
  func code() throws {
    #expect(try catalog.problemsOfCode() == [])
    #expect(try catalog.snippets().count > 15)
  }

  @Test("Links lead to articles, and every article is on the first page")
  func links() throws {
    #expect(try catalog.problemsOfLinks(from: "CoreData") == [])
  }
}
