// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@Suite("Text for people")
struct TextTests {
  @Test(
    "Width counts columns of a terminal",
    arguments: [
      ("", 0), ("abc", 3), ("Größe", 5), ("e\u{301}", 1), ("日本", 4), ("한글", 4), ("ｶﾅ", 2), ("Ａ", 2), ("🎉", 2),
      ("👩‍👩‍👧", 2), ("🇩🇪", 2), ("❤️", 2), ("❤", 1), ("a\u{200B}b", 2), ("\u{1B}[1;31mred\u{1B}[0m", 3), ("→ …", 3),
    ])
  func width(text: String, columns: Int) {
    #expect(TextLayout.width(of: text) == columns)
  }

  @Test("Padding fills up to a width and never cuts")
  func padding() {
    #expect(TextLayout.padded("é", to: 3) == "é  ")
    #expect(TextLayout.padded("日", to: 3, alignment: .trailing) == " 日")
    #expect(TextLayout.padded("long", to: 2) == "long")
  }

  @Test("Truncating leaves room for the ellipsis")
  func truncating() {
    #expect(TextLayout.truncated("abcdef", to: 6) == "abcdef")
    #expect(TextLayout.truncated("abcdef", to: 4) == "abc…")
    #expect(TextLayout.truncated("日本語", to: 4) == "日…")
    #expect(TextLayout.truncated("abc", to: 1) == "…")
    #expect(TextLayout.truncated("abc", to: 0) == "")
  }

  @Test("Wrapping breaks between words")
  func wrapping() {
    #expect(TextLayout.wrapped("one two  three\nfour", width: 8) == ["one two", "three", "four"])
    #expect(TextLayout.wrapped("one two three", width: 9, indent: 2, hanging: 1) == ["  one two", "   three"])
    #expect(TextLayout.wrapped("incomprehensible is long", width: 5) == ["incomprehensible", "is", "long"])
    #expect(TextLayout.wrapped("  ", width: 5) == [])
  }

  @Test("Colour follows the choice, then the environment, then the terminal")
  func color() {
    func isOn(_ choice: ColorChoice, _ environment: [String: String] = [:], terminal: Bool = true) -> Bool {
      TextStyler(choice, environment: environment, isTerminal: terminal).isEnabled
    }
    #expect(isOn(.auto))
    #expect(!isOn(.auto, terminal: false))
    #expect(!isOn(.auto, ["NO_COLOR": "1"]))
    #expect(isOn(.auto, ["NO_COLOR": ""]))
    #expect(!isOn(.auto, ["NO_COLOR": "1", "CLICOLOR_FORCE": "1"]))
    #expect(isOn(.auto, ["CLICOLOR_FORCE": "1"], terminal: false))
    #expect(!isOn(.auto, ["CLICOLOR_FORCE": "0"], terminal: false))
    #expect(!isOn(.auto, ["CLICOLOR": "0"]))
    #expect(isOn(.auto, ["CLICOLOR": "1"]))
    #expect(!isOn(.auto, ["CLICOLOR": "1"], terminal: false))
    #expect(!isOn(.auto, ["TERM": "dumb"]))
    #expect(isOn(.always, ["NO_COLOR": "1"], terminal: false))
    #expect(!isOn(.never, ["CLICOLOR_FORCE": "1"]))
  }

  @Test("Styles surround a text, and vanish when they are off")
  func styles() {
    let on = TextStyler(isEnabled: true)
    #expect(on.style("x", .bold, .red).text == "\u{1B}[1;31mx\u{1B}[0m")
    #expect(on.style("", .bold).text == "")
    #expect(TextStyler(isEnabled: false).style("x", .bold).text == "x")
    #expect(TextLayout.withoutStyles(on.style("x", .yellow).text + "y\u{1B}z") == "xy\u{1B}z")
  }

  @Test("A table aligns its columns by what a terminal shows")
  func table() {
    var table = TextTable([.init("entity"), .init("rows", .trailing), .init("note")])
    table.add(["Größe", "1,204", "é"])
    table.add(["日本語", "7"])
    table.add(["", "", "alone"])
    #expect(
      table.lines() == [
        "entity   rows  note",
        "Größe   1,204  é",
        "日本語      7",
        "               alone",
      ])
    #expect(
      table.lines(styler: TextStyler(isEnabled: true))[0]
        == "\u{1B}[1mentity\u{1B}[0m   \u{1B}[1mrows\u{1B}[0m  \u{1B}[1mnote\u{1B}[0m")
  }

  @Test("A table without titles has no line for them; line breaks in cells make lines")
  func plainTable() {
    var table = TextTable([.init(), .init()])
    #expect(table.lines() == [])
    table.add(["a", "one\ntwo"])
    table.add(["bb", "three"])
    #expect(table.lines() == ["a   one", "    two", "bb  three"])
  }

  @Test("A table of Markdown escapes what would break it")
  func markdown() {
    var table = TextTable([.init("code"), .init("rows", .trailing)])
    table.add(["a|b\\c", "1"])
    table.add(["Set<T>\nnext", TextStyler(isEnabled: true).style("22", .bold)])
    #expect(
      table.markdown == """
        | code | rows |
        | --- | ---: |
        | a\\|b\\\\c | 1 |
        | Set&lt;T><br>next | 22 |

        """)
  }

  @Test("A report indents its sections")
  func report() {
    var report = TextReport()
    report.line("Plan  Model 3 -> Model 5")
    report.line()
    report.section("Findings") { report in
      report.line("first\nsecond")
      report.line()
      report.indented { report in
        var table = TextTable([.init(), .init("", .trailing)])
        table.add(["Order", "52,340"])
        table.add(["Legacy", "1,204"])
        report.table(table)
      }
    }
    report.line("Nothing was changed.")
    #expect(
      report.text == """
        Plan  Model 3 -> Model 5

        Findings
          first
          second

            Order   52,340
            Legacy   1,204
        Nothing was changed.

        """)
    #expect(TextReport().text == "")
    var styled = TextReport(styler: TextStyler(isEnabled: true))
    styled.section("Disk") { $0.line("x") }
    #expect(styled.text == "\u{1B}[1mDisk\u{1B}[0m\n  x\n")
  }

  @Test(
    "Numbers are grouped by thousands",
    arguments: [(0, "0"), (999, "999"), (1204, "1,204"), (-52340, "-52,340"), (1_000_000, "1,000,000")])
  func grouped(number: Int, text: String) {
    #expect(NumberText.grouped(number) == text)
  }

  @Test("Nouns follow their number")
  func counted() {
    #expect(NumberText.counted(1, "row") == "1 row")
    #expect(NumberText.counted(0, "row") == "0 rows")
    #expect(NumberText.counted(1204, "entity", "entities") == "1,204 entities")
    #expect(NumberText.grouped(.min) == "-9,223,372,036,854,775,808")
  }

  @Test(
    "Sizes are rounded to the nearest and take the unit that fits",
    arguments: [
      (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1 kB"), (1049, "1 kB"), (1050, "1.1 kB"),
      (1500, "1.5 kB"), (9949, "9.9 kB"), (9950, "10 kB"), (12_400, "12 kB"), (999_499, "999 kB"), (999_500, "1 MB"),
      (97_000_000, "97 MB"), (80_400_000_000, "80 GB"), (Int.max, "9.2 EB"),
    ])
  func bytes(count: Int, text: String) {
    #expect(NumberText.bytes(count) == text)
  }
}
