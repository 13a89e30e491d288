// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Text for people, built line by line in indented sections.
package struct TextReport: Sendable {
  /// Applies styles to titles and tables.
  package let styler: TextStyler
  private var lines: [String] = []
  private var depth = 0

  /// Creates an empty report.
  package init(styler: TextStyler = TextStyler(isEnabled: false)) {
    self.styler = styler
  }

  /// Adds a line, or several if the text contains line breaks, at the current indentation.
  package mutating func line(_ text: String = "") { line(StyledText(text)) }

  /// Adds a line, or several if the text contains line breaks, at the current indentation.
  package mutating func line(_ text: StyledText) {
    for part in text.lines.map(\.text) {
      lines.append(part.isEmpty ? "" : String(repeating: "  ", count: depth) + part)
    }
  }

  /// Adds a bold title and the content added by a closure, indented below it.
  package mutating func section(_ title: String, _ body: (inout TextReport) throws -> Void) rethrows {
    line(styler.style(title, .bold))
    try indented(body)
  }

  /// Adds the content added by a closure, indented.
  package mutating func indented(_ body: (inout TextReport) throws -> Void) rethrows {
    depth += 1
    defer { depth -= 1 }
    try body(&self)
  }

  /// Adds a table.
  package mutating func table(_ table: TextTable, gap: Int = 2) {
    for text in table.lines(styler: styler, gap: gap) { line(StyledText(safe: text)) }
  }

  /// The text, ending with a line break unless it is empty.
  package var text: String {
    lines.map { $0 + "\n" }.joined()
  }
}
