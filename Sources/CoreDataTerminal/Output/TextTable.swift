// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A table, written in aligned columns for a terminal or as Markdown.
package struct TextTable: Hashable, Sendable {
  /// A column of the table.
  package struct Column: Hashable, Sendable {
    /// The title above the column.
    package var title: String
    /// The alignment of the cells.
    package var alignment: Alignment

    /// Creates a column.
    package init(_ title: String = "", _ alignment: Alignment = .leading) {
      self.title = title
      self.alignment = alignment
    }
  }

  /// The columns.
  package var columns: [Column]
  /// The rows; missing cells are empty.
  package private(set) var rows: [[StyledText]] = []

  /// Creates a table without rows.
  package init(_ columns: [Column]) {
    self.columns = columns
  }

  /// Adds a row.
  package mutating func add(_ cells: [String]) { add(cells.map { StyledText($0) }) }

  /// Adds a row.
  package mutating func add(_ cells: [StyledText]) {
    precondition(cells.count <= columns.count, "A row of \(cells.count) cells in a table of \(columns.count) columns.")
    rows.append(cells + Array(repeating: "", count: columns.count - cells.count))
  }

  /// Returns the lines of the table in aligned columns, without trailing spaces.
  ///
  /// A line break in a cell starts another line. The titles are omitted if all are empty.
  ///
  /// - Parameters:
  ///   - styler: Makes the titles bold.
  ///   - gap: The number of spaces between columns.
  package func lines(styler: TextStyler = TextStyler(isEnabled: false), gap: Int = 2) -> [String] {
    let hasTitles = columns.contains { !$0.title.isEmpty }
    let titles = columns.map { styler.style($0.title, .bold) }
    let cells = ((hasTitles ? [titles] : []) + rows).map { $0.map { $0.lines.map(\.text) } }
    let widths = columns.indices.map { column in
      cells.flatMap { $0[column] }.map { TextLayout.width(of: $0) }.max() ?? 0
    }
    var lines: [String] = []
    for row in cells {
      for part in 0..<(row.map(\.count).max() ?? 1) {
        lines.append(line(row.map { part < $0.count ? $0[part] : "" }, widths, gap))
      }
    }
    return lines
  }

  private func line(_ cells: [String], _ widths: [Int], _ gap: Int) -> String {
    var line = ""
    var blanks = 0
    for (index, cell) in cells.enumerated() {
      let padding = widths[index] - TextLayout.width(of: cell)
      let isLeading = columns[index].alignment == .leading
      if !cell.isEmpty {
        line += String(repeating: " ", count: blanks + (isLeading ? 0 : padding)) + cell
        blanks = 0
      }
      blanks += gap + (cell.isEmpty ? widths[index] : isLeading ? padding : 0)
    }
    return line
  }

  /// The table in GitHub Flavored Markdown, ending with a line break.
  package var markdown: String {
    let titles = columns.map { Self.escaped(StyledText.escaped($0.title)) }
    let rules = columns.map { $0.alignment == .leading ? "---" : "---:" }
    let lines = [titles, rules] + rows.map { $0.map { Self.escaped($0.text) } }
    return lines.map { "| " + $0.joined(separator: " | ") + " |\n" }.joined()
  }

  private static func escaped(_ cell: String) -> String {
    TextLayout.withoutStyles(cell).replacingOccurrences(of: "\\", with: "\\\\")
      .replacingOccurrences(of: "|", with: "\\|").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: "\n", with: "<br>")
  }
}
