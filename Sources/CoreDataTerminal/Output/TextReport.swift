// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Text for people, built line by line in indented sections.
package struct TextReport: Sendable {
  /// Applies styles to titles and tables.
  package let styler: TextStyler
  /// The width of a line in columns, to which text and tables are wrapped; nil for no limit.
  private let width: Int?
  private var lines: [String] = []
  private var depth = 0

  package init(styler: TextStyler = TextStyler(isEnabled: false), width: Int? = nil) {
    self.styler = styler
    self.width = width
  }

  /// Adds a line, or several if the text contains line breaks, at the current indentation.
  package mutating func line(_ text: String = "") { line(StyledText(text)) }

  /// Adds a line, or several if the text contains line breaks, at the current indentation.
  package mutating func line(_ text: StyledText) {
    let parts = text.lines.map(\.text).flatMap { part in
      width.map { TextLayout.fitted(part, width: $0 - 2 * depth).components(separatedBy: "\n") } ?? [part]
    }
    for part in parts {
      lines.append(part.isEmpty ? "" : String(repeating: "  ", count: depth) + part)
    }
  }

  /// Adds one or more sentences, wrapped between words to the usual width of a terminal.
  package mutating func paragraph(_ text: String, hanging: Int = 0) {
    let width = TextLayout.terminalWidth - 2 * depth
    for part in TextLayout.wrapped(text, width: width, hanging: hanging) { line(part) }
  }

  /// Adds a title and a text beside it. If they do not fit, the text is wrapped between words, and continues indented
  /// below the title.
  package mutating func entry(_ title: String, _ text: String, gap: Int = 2) {
    let start = StyledText.escaped(title) + String(repeating: " ", count: gap)
    let first = TextLayout.width(of: start)
    guard let width, first + TextLayout.width(of: text) > width - 2 * depth else { return line(start + text) }
    let parts = TextLayout.wrapped(
      StyledText.escaped(text), width: width - 2 * depth, indent: first, hanging: TextLayout.entryIndent - first)
    for (index, part) in parts.enumerated() {
      line(StyledText(safe: index == 0 ? start + part.drop { $0 == " " } : part))
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
  package mutating func table(_ table: TextTable) {
    for text in table.lines(styler: styler, width: width.map { $0 - 2 * depth }) {
      line(StyledText(safe: text))
    }
  }

  /// The text, ending with a line break unless it is empty.
  package var text: String {
    lines.map { $0 + "\n" }.joined()
  }
}

/// A table, written in aligned columns for a terminal or as Markdown.
package struct TextTable: Hashable, Sendable {
  /// Whether there are no rows.
  package var isEmpty: Bool { rows.isEmpty }

  package struct Column: Hashable, Sendable {
    /// The title above the column.
    package var title: String
    /// The alignment of the cells.
    package var alignment: Alignment

    package init(_ title: String = "", _ alignment: Alignment = .leading) {
      self.title = title
      self.alignment = alignment
    }
  }

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
    trap(unless: cells.count <= columns.count, "A row of \(cells.count) cells in a table of \(columns.count) columns.")
    rows.append(cells + Array(repeating: "", count: columns.count - cells.count))
  }

  /// Returns the lines of the table in aligned columns, without trailing spaces.
  ///
  /// A line break in a cell starts another line. The titles are omitted if all are empty.
  ///
  /// - Parameters:
  ///   - styler: Makes the titles bold.
  ///   - width: The width of a line in columns, to which the text in the widest columns is wrapped; nil for no limit.
  package func lines(styler: TextStyler = TextStyler(isEnabled: false), width: Int? = nil) -> [String] {
    let hasTitles = columns.contains { !$0.title.isEmpty }
    let titles = columns.map { styler.style($0.title, .bold) }
    var cells = ((hasTitles ? [titles] : []) + rows).map { $0.map { $0.lines.map(\.text) } }
    var widths = Self.widths(of: cells, columns.count)
    // Narrow the widest column first, then others, until the lines fit.
    var narrowed: Set<Int> = []
    while let width, widths.reduce(Self.gap * (columns.count - 1), +) > width,
      let widest = widths.indices.filter({ columns[$0].alignment == .leading && !narrowed.contains($0) })
        .max(by: { widths[$0] < widths[$1] })
    {
      let excess = widths.reduce(Self.gap * (columns.count - 1), +) - width
      let limit = max(Self.leastWidth, widths[widest] - excess)
      for row in cells.indices { cells[row][widest] = cells[row][widest].flatMap { Self.wrapped($0, to: limit) } }
      widths = Self.widths(of: cells, columns.count)
      narrowed.insert(widest)
    }
    var lines: [String] = []
    for row in cells {
      for part in 0..<(row.map(\.count).max() ?? 1) {
        lines.append(line(row.map { part < $0.count ? $0[part] : "" }, widths))
      }
    }
    return lines
  }

  /// The number of spaces between columns.
  private static let gap = 2

  /// The width in columns below which a table column is not narrowed. Narrower columns are hard to read.
  private static let leastWidth = 18

  private static func widths(of cells: [[[String]]], _ count: Int) -> [Int] {
    (0..<count).map { column in cells.flatMap { $0[column] }.map { TextLayout.width(of: $0) }.max() ?? 0 }
  }

  /// Returns the lines of a cell's text, wrapped to a width. Styled text is short and is not wrapped.
  private static func wrapped(_ text: String, to width: Int) -> [String] {
    guard TextLayout.width(of: text) > width, TextLayout.withoutStyles(text) == text else { return [text] }
    return TextLayout.wrapped(text, width: width, hanging: hangingIndent).flatMap { line in
      TextLayout.width(of: line) > width && line.utf8.count == line.count ? broken(line, to: width) : [line]
    }
  }

  /// The indentation of the lines of a cell below the first.
  private static let hangingIndent = 2

  /// Returns the parts of a word that is longer than a line, such as a version hash. It is broken after punctuation where
  /// that leaves no line half empty, otherwise at the width.
  private static func broken(_ line: String, to width: Int) -> [String] {
    let indent = String(repeating: " ", count: hangingIndent)
    var parts: [String] = []
    var rest = line[...]
    while rest.count > width {
      let part = rest.prefix(width)
      let end = part.lastIndex { ":/.,;_-".contains($0) }.map { part.index(after: $0) }
      let isLate = end.map { part.distance(from: part.startIndex, to: $0) > width / 2 } ?? false
      let cut = isLate ? end ?? part.endIndex : part.endIndex
      parts.append(String(rest[..<cut]))
      rest = Substring(indent + rest[cut...])
    }
    return parts + [String(rest)]
  }

  private func line(_ cells: [String], _ widths: [Int]) -> String {
    var line = ""
    var blanks = 0
    for (index, cell) in cells.enumerated() {
      let padding = widths[index] - TextLayout.width(of: cell)
      let isLeading = columns[index].alignment == .leading
      if !cell.isEmpty {
        line += String(repeating: " ", count: blanks + (isLeading ? 0 : padding)) + cell
        blanks = 0
      }
      blanks += Self.gap + (cell.isEmpty ? widths[index] : isLeading ? padding : 0)
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

/// Measures, pads and wraps text for a terminal, where some characters are two columns wide and others none.
package enum TextLayout {
  /// The usual width of a terminal in columns.
  package static let terminalWidth = 80
  /// The indentation of the text below the title of an entry.
  static let entryIndent = 4

  /// Returns the width of a text in columns. Control sequences for styles have no width.
  package static func width(of text: String) -> Int {
    if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text.utf8.count }
    return withoutStyles(text).reduce(0) { $0 + width(of: $1) }
  }

  /// Returns the width of a character in columns.
  package static func width(of character: Character) -> Int {
    guard let first = character.unicodeScalars.first(where: { !isInvisible($0) }) else { return 0 }
    // U+FE0F selects the emoji presentation of a character that is otherwise narrow.
    if character.unicodeScalars.contains("\u{FE0F}") || first.properties.isEmojiPresentation { return 2 }
    return wideRanges.contains { $0.contains(first.value) } ? 2 : 1
  }

  /// Returns the text padded with spaces to a width. Longer text is unchanged.
  package static func padded(_ text: String, to width: Int, alignment: Alignment = .leading) -> String {
    let blanks = String(repeating: " ", count: max(0, width - Self.width(of: text)))
    return alignment == .leading ? text + blanks : blanks + text
  }

  /// Returns the text truncated to a width, with an ellipsis.
  package static func truncated(_ text: String, to width: Int) -> String {
    guard Self.width(of: text) > width else { return text }
    var result = ""
    var used = 1
    for character in withoutStyles(text) {
      used += Self.width(of: character)
      if used > width { break }
      result.append(character)
    }
    return width > 0 ? result + "…" : ""
  }

  /// Returns the lines of a text wrapped between words. Longer words are not broken.
  ///
  /// - Parameters:
  ///   - text: The text; line breaks in it count as spaces.
  ///   - width: The width of a line in columns, including the indentation.
  ///   - indent: The indentation of the first line.
  ///   - hanging: The additional indentation of the other lines.
  package static func wrapped(_ text: String, width: Int, indent: Int = 0, hanging: Int = 0) -> [String] {
    var lines: [String] = []
    var line = ""
    var used = 0
    for word in text.split(whereSeparator: \.isWhitespace).map(String.init) {
      let wordWidth = Self.width(of: word)
      let margin = indent + (lines.isEmpty ? 0 : hanging)
      if line.isEmpty {
        line = String(repeating: " ", count: margin) + word
        used = margin + wordWidth
      } else if used + 1 + wordWidth <= width {
        line += " " + word
        used += 1 + wordWidth
      } else {
        lines.append(line)
        line = String(repeating: " ", count: indent + hanging) + word
        used = indent + hanging + wordWidth
      }
    }
    return line.isEmpty ? lines : lines + [line]
  }

  /// Returns the text with long lines wrapped to a width in columns. Lines that are indented or contain aligned columns
  /// are unchanged.
  package static func fitted(_ text: String, width: Int) -> String {
    text.components(separatedBy: "\n").map { line in
      let isProse = !line.hasPrefix(" ") && !line.contains("  ")
      guard isProse, Self.width(of: line) > width, withoutStyles(line) == line else { return line }
      return wrapped(line, width: width, hanging: 2).joined(separator: "\n")
    }.joined(separator: "\n")
  }

  /// Returns the text without control sequences for styles.
  package static func withoutStyles(_ text: String) -> String {
    guard text.unicodeScalars.contains("\u{1B}") else { return text }
    var result = String.UnicodeScalarView()
    var scalars = text.unicodeScalars[...]
    while let scalar = scalars.popFirst() {
      guard scalar == "\u{1B}", scalars.first == "[" else {
        result.append(scalar)
        continue
      }
      scalars.removeFirst()
      // A control sequence ends with a character from @ to ~.
      scalars = scalars.drop { !(0x40...0x7E).contains($0.value) }.dropFirst()
    }
    return String(result)
  }

  private static func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .control, .format: true
    default: false
    }
  }

  /// East Asian wide and full-width blocks (Unicode Standard Annex #11), and emoji of the supplementary planes.
  private static let wideRanges: [ClosedRange<UInt32>] = [
    0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
    0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
    0x1F300...0x1F64F, 0x1F900...0x1F9FF, 0x20000...0x3FFFD,
  ]
}

/// The alignment of a text in its column.
package enum Alignment: Hashable, Sendable {
  case leading, trailing
}

/// Numbers for people, independent of the system's language.
package enum NumberText {
  /// Returns a number with thousands separators, such as `52,340`.
  package static func grouped(_ number: Int) -> String {
    let digits = String(number.magnitude)
    var result = number < 0 ? "-" : ""
    for (index, digit) in digits.enumerated() {
      if index > 0, (digits.count - index) % 3 == 0 { result.append(",") }
      result.append(digit)
    }
    return result
  }

  /// Returns a number with its noun, such as `1 row` or `1,204 rows`.
  package static func counted(_ number: Int, _ singular: String, _ plural: String? = nil) -> String {
    "\(grouped(number)) \(number == 1 ? singular : plural ?? singular + "s")"
  }

  /// Returns a size in decimal units, such as `97 MB` or `1.5 kB`, with one decimal below ten and none above.
  package static func bytes(_ count: Int) -> String {
    guard count >= 1000 else { return count == 1 ? "1 byte" : "\(count) bytes" }
    let units = ["kB", "MB", "GB", "TB", "PB", "EB"]
    var scale = 1
    var unit = 0
    // If rounding would yield 1000 of a unit, use the next unit.
    while unit + 1 < units.count, count / (scale * 100) >= 9995 {
      scale *= 1000
      unit += 1
    }
    let tenths = (count / (scale * 10) + 5) / 10
    guard tenths >= 100 else {
      return tenths % 10 == 0 ? "\(tenths / 10) \(units[unit])" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
    return "\((count / scale + 500) / 1000) \(units[unit])"
  }

  /// Returns bytes as hexadecimal digits.
  package static func hexadecimal(_ bytes: Data) -> String {
    let digits = Array("0123456789abcdef")
    return String(bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] })
  }
}
