// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The text of a member that is added to a class.
struct MemberText {
  /// The statements, with opening and closing lines of blocks; not indented.
  private let statements: [String]

  init(_ statements: [String]) {
    self.statements = statements
  }

  /// The member with a modifier before it.
  func prefixed(_ text: String) -> MemberText { MemberText([text + (statements.first ?? "")] + statements.dropFirst()) }

  /// The member on one line, so that it moves no other.
  var line: String {
    statements.dropFirst().reduce(into: statements.first ?? "") { text, next in
      text += text.hasSuffix("{") || text.hasSuffix(":") || next == "}" ? " " + next : "; " + next
    }
  }

  /// The member as its author would write it.
  ///
  /// - Parameter indentation: what begins its lines, and what a block adds.
  func lines(indentation: (start: String, block: String)) -> [String] {
    var depth = 0
    return statements.map { statement in
      if statement == "}" { depth -= 1 }
      let isLabel = statement.hasPrefix("case ") || statement == "default:"
      // The cases of a `switch` are not indented, their statements are.
      let text =
        indentation.start + String(repeating: indentation.block, count: max(0, isLabel ? depth - 1 : depth)) + statement
      if statement.hasSuffix("{") { depth += 1 }
      return text
    }
  }
}
