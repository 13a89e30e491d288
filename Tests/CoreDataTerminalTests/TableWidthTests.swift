// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Testing

@Suite("Tables for a terminal's width")
struct TableWidthTests {
  private func report(width: Int?) -> String {
    var table = TextTable([.init("Code"), .init("Finding"), .init("Rows", .trailing)])
    table.add(["DS102", "the attribute is removed, and the values that it has would be dropped", "12"])
    table.add(["MD501", "has no inverse", "1,000"])
    var report = TextReport(width: width)
    report.indented { $0.table(table) }
    return report.text
  }

  @Test("The widest column is wrapped between words; without a width it is not")
  func wrapping() {
    #expect(
      report(width: 50) == """
          Code   Finding                             Rows
          DS102  the attribute is removed, and the     12
                   values that it has would be
                   dropped
          MD501  has no inverse                     1,000

        """)
    #expect(report(width: nil).split(separator: "\n").count == 3)
    #expect(report(width: 200) == report(width: nil))
  }

  @Test("A column stays readable in a narrow terminal, and a word that is wider is cut")
  func narrow() {
    #expect(report(width: 10).split(separator: "\n").allSatisfy { $0.count < 50 })
    var table = TextTable([.init(), .init()])
    table.add(["a", String(repeating: "x", count: 90)])
    var report = TextReport(width: 40)
    report.table(table)
    let lines = [37, 35, 18].map { String(repeating: "x", count: $0) }
    #expect(report.text == "a  \(lines[0])\n     \(lines[1])\n     \(lines[2])\n")
  }

  @Test("Several columns are wrapped where one is not enough")
  func columns() {
    var table = TextTable([.init(), .init()])
    table.add([String(repeating: "ab ", count: 20), String(repeating: "cd ", count: 20)])
    var report = TextReport(width: 60)
    report.table(table)
    #expect(report.text.split(separator: "\n").allSatisfy { $0.count <= 60 })
  }

  @Test("Sentences fit a terminal; what is indented or in columns stays whole")
  func sentences() {
    let long = String(repeating: "word ", count: 20) + "end"
    #expect(TextLayout.fitted(long, width: 40).split(separator: "\n").allSatisfy { $0.count <= 40 })
    for line in ["  " + long, "To go on:  " + long, "\u{1b}[1m\(long)\u{1b}[0m"] {
      #expect(TextLayout.fitted(line, width: 40) == line)
    }
    #expect(TextLayout.fitted("short\n\nlines\n", width: 40) == "short\n\nlines\n")
  }
}
