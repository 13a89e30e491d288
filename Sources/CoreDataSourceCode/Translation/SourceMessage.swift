// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A message about something to do by hand, in the format of compiler messages.
package struct SourceMessage: Hashable, CustomStringConvertible, Sendable {
  package enum Severity: String, Sendable {
    case error, warning
  }

  package let severity: Severity
  package let path: String
  /// The line, counted from 1; so is the column.
  package let line: Int
  package let column: Int
  package let text: String

  package var description: String { "\(path):\(line):\(column): \(severity.rawValue): \(text)" }
}

/// Changes of a file.
struct SourceEdits {
  private var edits: [(range: Range<Int>, text: String)] = []

  /// Replaces bytes of the file. Of two replacements of the same bytes, the first in the file is used; insertions at
  /// one place keep their order.
  mutating func replace(_ range: Range<Int>, _ text: String) { edits.append((range, text)) }

  mutating func insert(_ text: String, at position: Int) { edits.append((position..<position, text)) }

  /// Returns the changed file.
  ///
  /// - Parameter keepsLines: whether every line keeps its position: line breaks are neither removed nor added.
  func applied(to bytes: [UInt8], keepsLines: Bool) -> [UInt8] {
    var result: [UInt8] = []
    var done = 0
    let ordered = edits.enumerated().sorted { left, right in
      let (a, b) = (left.element.range, right.element.range)
      if a.lowerBound != b.lowerBound { return a.lowerBound < b.lowerBound }
      return a.isEmpty == b.isEmpty ? left.offset < right.offset : a.isEmpty
    }
    let newline = UInt8(ascii: "\n")
    for (_, edit) in ordered where edit.range.lowerBound >= done {
      result += bytes[done..<edit.range.lowerBound]
      if keepsLines {
        result += edit.text.utf8.map { $0 == newline ? UInt8(ascii: " ") : $0 }
        result += bytes[edit.range].filter { $0 == newline }
      } else {
        result += edit.text.utf8
      }
      done = edit.range.upperBound
    }
    return result + bytes[done...]
  }
}
