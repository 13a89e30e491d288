// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures, pads and wraps text for a terminal, where some characters are two columns wide and others none.
package enum TextLayout {
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
      // A sequence ends with a character from @ to ~.
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
