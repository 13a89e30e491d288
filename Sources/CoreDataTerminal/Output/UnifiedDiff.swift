// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The difference between two texts in the unified format, which `patch` can apply.
package enum UnifiedDiff {
  /// The number of unchanged lines shown around a change.
  private static let context = 3

  private struct Line {
    /// A space for an unchanged line, `-` for a removed one, or `+` for an added one.
    let mark: Character
    let text: Substring
    /// The zero-based indexes, in the old and the new text, of the line or of its insertion point.
    let old: Int
    let new: Int
  }

  /// Returns the difference, or an empty text if there is none.
  ///
  /// - Parameter path: The path of the file below `a/` and `b/`.
  package static func text(path: String, old: String, new: String) -> String {
    guard old != new else { return "" }
    var result = "--- a/\(path)\n+++ b/\(path)\n"
    let lines = lines(split(old), split(new))
    var next = 0
    while let first = lines[next...].firstIndex(where: { $0.mark != " " }) {
      var last = first
      // Changes that are close together share a hunk.
      while let following = lines[(last + 1)...].firstIndex(where: { $0.mark != " " }), following - last <= 2 * context
      {
        last = following
      }
      let range = max(next, first - context)..<min(lines.count, last + context + 1)
      let hunk = lines[range]
      let (oldCount, newCount) = (hunk.count { $0.mark != "+" }, hunk.count { $0.mark != "-" })
      let start = lines[range.lowerBound]
      result += "@@ -\(place(start.old, oldCount)) +\(place(start.new, newCount)) @@\n"
      for line in hunk {
        result += "\(line.mark)\(line.text)"
        if line.text.unicodeScalars.last != "\n" { result += "\n\\ No newline at end of file\n" }
      }
      next = range.upperBound
    }
    return result
  }

  private static func place(_ start: Int, _ count: Int) -> String {
    let first = count == 0 ? start : start + 1
    return count == 1 ? "\(first)" : "\(first),\(count)"
  }

  /// Returns the lines of a text, with their line breaks.
  private static func split(_ text: String) -> [Substring] {
    var lines: [Substring] = []
    var start = text.startIndex
    let scalars = text.unicodeScalars
    while start < text.endIndex {
      let end = scalars[start...].firstIndex(of: "\n").map { scalars.index(after: $0) } ?? text.endIndex
      lines.append(Substring(scalars[start..<end]))
      start = end
    }
    return lines
  }

  private static func lines(_ old: [Substring], _ new: [Substring]) -> [Line] {
    var removed: Set<Int> = []
    var inserted: Set<Int> = []
    for change in new.difference(from: old) {
      switch change {
      case .remove(let offset, _, _): removed.insert(offset)
      case .insert(let offset, _, _): inserted.insert(offset)
      }
    }
    var result: [Line] = []
    var (i, j) = (0, 0)
    while i < old.count || j < new.count {
      if removed.contains(i) {
        result.append(Line(mark: "-", text: old[i], old: i, new: j))
        i += 1
      } else if inserted.contains(j) {
        result.append(Line(mark: "+", text: new[j], old: i, new: j))
        j += 1
      } else {
        result.append(Line(mark: " ", text: old[i], old: i, new: j))
        i += 1
        j += 1
      }
    }
    return result
  }
}
