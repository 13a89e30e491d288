// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The source of a member added to a class.
struct MemberText {
  /// The statements, with the opening and closing lines of blocks; not indented.
  private let statements: [String]

  init(_ statements: [String]) {
    self.statements = statements
  }

  /// Returns the member with a modifier before it.
  func prefixed(_ text: String) -> MemberText {
    let first: String = text + (statements.first ?? "")
    return MemberText([first] + statements.dropFirst())
  }

  /// The member on one line, which leaves the positions of other lines unchanged.
  var line: String {
    statements.dropFirst().reduce(into: statements.first ?? "") { text, next in
      text += text.hasSuffix("{") || text.hasSuffix(":") || next == "}" ? " " + next : "; " + next
    }
  }

  /// Returns the member in usual formatting.
  ///
  /// - Parameter indentation: the indentation of its lines, and the additional indentation of a block.
  func lines(indentation: (start: String, block: String)) -> [String] {
    var depth = 0
    return statements.map { statement in
      if statement == "}" { depth -= 1 }
      let isLabel = statement.hasPrefix("case ") || statement == "default:"
      // The cases of a `switch` are not indented, but their statements are.
      let text =
        indentation.start + String(repeating: indentation.block, count: max(0, isLabel ? depth - 1 : depth)) + statement
      if statement.hasSuffix("{") { depth += 1 }
      return text
    }
  }
}
