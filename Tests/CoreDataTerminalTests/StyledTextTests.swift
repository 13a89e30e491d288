// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@Suite("Text for a terminal holds no control characters but the tool's own")
struct StyledTextTests {
  private let styler = TextStyler(isEnabled: true)

  @Test(
    "Characters that steer a terminal are written as escapes",
    arguments: [
      ("a\u{1B}[2Jb", "a\\u{1B}[2Jb"), ("a\rb", "a\\u{D}b"), ("\u{7}\u{8}\u{0}\u{7F}", "\\u{7}\\u{8}\\u{0}\\u{7F}"),
      ("\u{9B}31m", "\\u{9B}31m"), ("\u{202E}abc\u{2066}", "\\u{202E}abc\\u{2066}"), ("a\tb\nc", "a\tb\nc"),
      ("Größe 日本 👩‍👩‍👧 e\u{301}", "Größe 日本 👩‍👩‍👧 e\u{301}"), ("", ""), ("\r\n", "\\u{D}\n"),
    ])
  func escaped(text: String, expected: String) {
    #expect(StyledText.escaped(text) == expected)
    #expect(StyledText(text).text == expected)
    let interpolated: StyledText = "\(text)"
    #expect(interpolated.text == expected)
  }

  @Test("Styles stay, also around text that would end them")
  func styles() {
    let name = "x\u{1B}[0m\u{1B}[31m"
    let text: StyledText = "\(styler.style(name, .bold)): \(name)"
    #expect(text.text == "\u{1B}[1mx\\u{1B}[0m\\u{1B}[31m\u{1B}[0m: x\\u{1B}[0m\\u{1B}[31m")
  }

  @Test("Reports, tables, progress and JSON hold them back")
  func outputs() {
    let hostile = "a\u{1B}]0;x\u{7}\u{9B}m"
    var report = TextReport(styler: styler)
    report.line(hostile)
    report.section(hostile) { $0.line("\(hostile)") }
    var table = TextTable([.init(hostile), .init("b")])
    table.add([hostile, hostile])
    table.add([styler.style(hostile, .red), StyledText(hostile)])
    report.table(table)
    var progress = ""
    for mode in [ProgressWriter.Mode.bar, .auto, .json] {
      for isTerminal in [true, false] {
        let writer = ProgressWriter(mode, isTerminal: isTerminal) { progress += $0 }
        writer.update(ProgressEvent(step: 1, of: 2, title: hostile, entity: hostile, done: 1, total: 2))
        writer.update(ProgressEvent(step: 2, of: 2, title: hostile, done: 1))
        writer.finish()
      }
    }
    let own = progress.replacingOccurrences(of: "\u{1B}[K", with: "").replacingOccurrences(of: "\r", with: "")
    for text in [TextLayout.withoutStyles(report.text), table.markdown, own, JSONText.string(hostile).line()] {
      #expect(!text.unicodeScalars.contains { $0.properties.generalCategory == .control && $0 != "\n" }, "\(text)")
      #expect(text.contains("]0;x"))
    }
    #expect(report.text.contains("\u{1B}[31ma\\u{1B}]0;x"))
  }
}
