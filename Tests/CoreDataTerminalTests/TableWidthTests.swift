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

  @Test("A column stays readable in a narrow terminal, and a word without spaces stays whole")
  func narrow() {
    #expect(report(width: 10).split(separator: "\n").allSatisfy { $0.count < 50 })
    var table = TextTable([.init(), .init()])
    table.add(["a", String(repeating: "x", count: 90)])
    var report = TextReport(width: 40)
    report.table(table)
    #expect(report.text == "a  " + String(repeating: "x", count: 90) + "\n")
  }
}
