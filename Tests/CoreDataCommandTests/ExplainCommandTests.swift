// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataAnalysis
import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata explain")
struct ExplainCommandTests {
  @Test("A code is explained: what, why, an example, the cure")
  func page() throws {
    let run = CommandRun("explain", "DS102")
    #expect(run.status == .done)
    for title in ["DS102  ", "What", "Why", "Example", "Cure"] { #expect(run.output.contains(title), "\(run.output)") }
    #expect(CommandRun("explain", "ds102").output == run.output)
    let json = try CommandRun("explain", "DS102", "--format", "json").json
    #expect(json["format"] as? String == "coredata.explanation/1")
    let codes = try #require(json["codes"] as? [[String: Any]])
    #expect(codes.map { $0["code"] as? String } == ["DS102"])
    for key in ["title", "what", "why", "example", "cure"] {
      #expect((codes.first?[key] as? String)?.isEmpty == false, "\(key)")
    }
    let markdown = CommandRun("explain", "DS102", "--format", "markdown")
    #expect(markdown.output.hasPrefix("## DS102  "), "\(markdown.output)")
  }

  @Test("Without a code all are listed")
  func list() throws {
    let run = CommandRun("explain")
    #expect(run.status == .done)
    let json = try CommandRun("explain", "--format", "json").json
    let codes = try #require(json["codes"] as? [[String: Any]]).compactMap { $0["code"] as? String }
    #expect(codes.count > 10 && Set(codes).count == codes.count)
    for code in codes { #expect(run.output.contains(code)) }
    #expect(CommandRun("explain", "--format", "markdown").output.contains("| DS101 |"))
  }

  @Test("A text that is no code: status 2, with the nearest codes")
  func unknown() {
    let run = CommandRun("explain", "DS100")
    #expect(run.status == .usage)
    #expect(run.error.contains("The nearest codes are DS101, DS102, DS103"), "\(run.error)")
  }

  @Test(
    "Every code and every kind of problem that the command can print is explained",
    arguments: ["text", "json", "markdown"])
  func everything(format: String) throws {
    let names =
      FindingCode.allCases.map(\.rawValue) + ErrorPage.all.map { String($0.code) }
      + StoreDefect.Kind.allCases.map(\.rawValue)
    for name in names {
      let run = CommandRun("explain", name, "--format", format)
      #expect(run.status == .done && run.output.contains(name), "\(name): \(run.error)")
    }
    #expect(names.allSatisfy(CommandRun("explain").output.contains))
  }

  @Test("The page of a kind of problem is written in sentences", arguments: StoreDefect.Kind.allCases)
  func kind(kind: StoreDefect.Kind) {
    for text in [kind.page.what, kind.page.why, kind.page.cure] {
      #expect(text.hasSuffix(".") && !text.contains("  "), "\(text)")
    }
    #expect(!kind.page.title.isEmpty && kind.page.title.count < 90)
    let pages = StoreDefect.Kind.allCases.filter { $0.page == kind.page }
    #expect(pages == [kind], "The kinds \(pages) have one page.")
  }
}
