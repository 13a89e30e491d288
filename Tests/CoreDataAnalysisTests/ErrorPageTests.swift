// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import Foundation
import Testing

@Suite("Pages of errors")
struct ErrorPageTests {
  @Test("Every error code of the framework has a page with its name, and no page is for another code")
  func codes() throws {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().appendingPathComponent("Sources/CoreData/Errors")
    var known: [String: Int] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift") {
      let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
      for match in text.matches(of: /public var (NS\w+Error): Int \{ (\d+) \}/) {
        known[String(match.1)] = Int(match.2)
      }
    }
    #expect(known.count > 40)
    let unnamed = ErrorPage.all.filter { $0.name == nil }
    let named = ErrorPage.all.filter { $0.name != nil }.map { ($0.name ?? "", $0.code) }
    #expect(known == Dictionary(uniqueKeysWithValues: named))
    // Apple's framework throws it, and its headers have no constant for it.
    #expect(unnamed.map(\.code) == [132_001])
  }

  @Test("A page is written in sentences, and found by code and by name", arguments: ErrorPage.all)
  func page(page: ErrorPage) {
    for text in [page.cause, page.example, page.cure] {
      #expect(text.hasSuffix(".") && !text.contains("  "), "\(text)")
    }
    #expect(!page.title.isEmpty && page.title.count < 70)
    #expect(ErrorPage(text: "\(page.code)") == page)
    if let name = page.name { #expect(ErrorPage(text: name.lowercased()) == page) }
  }

  @Test("Another text has no page")
  func unknown() {
    #expect(ErrorPage(text: "134099") == nil && ErrorPage(text: "") == nil && ErrorPage(text: "DS102") == nil)
  }
}
