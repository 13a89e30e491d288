// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata manual")
struct ManualCommandTests {
  @Test("The page has every command, option and exit status")
  func page() {
    let run = CommandRun("manual")
    #expect(run.status == .done && run.error.isEmpty)
    let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    #expect(lines.first?.hasPrefix(".TH COREDATA 1 ") == true)
    for command in CommandLineTool.specification.commands {
      let words = (["coredata"] + command.path).joined(separator: " ").replacingOccurrences(of: "-", with: "\\-")
      #expect(lines.contains { $0 == ".SS \"\(words)\"" || $0.hasPrefix(".SS \"\(words) ") }, "\(words)")
      for option in command.options {
        #expect(
          lines.contains {
            $0.hasPrefix(".B ") && $0.contains("\\-\\-\(option.name.replacingOccurrences(of: "-", with: "\\-"))")
          })
      }
    }
    #expect(lines.contains(".B 130"))
  }

  @Test("Text that begins with a point or an apostrophe, or has a backslash, is text")
  func escapedText() {
    let option = OptionSpecification.flag("dotted", summary: ".SH is no heading, and 'a' is \\e")
    let command = CommandSpecification(
      ["dot"], summary: "'quoted' words", discussion: ".xccurrentversion names the version.", options: [option])
    let page = ToolSpecification(
      name: "t", version: "1", summary: "s", groups: [], commands: [command]
    ).manualPage
    let lines = page.split(separator: "\n").map(String.init)
    #expect(lines.contains("\\&'quoted' words"))
    #expect(lines.contains("\\&.xccurrentversion names the version."))
    #expect(lines.contains("\\&.SH is no heading, and 'a' is \\ee"))
  }

  @Test("No text is taken for a request")
  func requests() {
    let known: Set<String> = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I"]
    for line in CommandRun("manual").output.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      let word = String(line.prefix { $0 != " " })
      #expect(known.contains(word), "\(line)")
    }
  }
}
