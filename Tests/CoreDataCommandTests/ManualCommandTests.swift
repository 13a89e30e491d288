// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

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

  @Test("No text is taken for a request")
  func requests() {
    let known: Set<String> = [".TH", ".SH", ".SS", ".PP", ".TP", ".B", ".I"]
    for line in CommandRun("manual").output.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      let word = String(line.prefix { $0 != " " })
      #expect(known.contains(word), "\(line)")
    }
  }
}
