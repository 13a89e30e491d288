// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The attributes and modifiers before the keyword of a declaration.
package struct DeclarationHead {
  /// The names of the attributes, without `@`.
  package private(set) var attributes: Set<String> = []
  /// The modifiers, in reverse order.
  package private(set) var modifiers: [String] = []
  /// The text between the parentheses of `@objc(…)`; nil if there is none.
  package private(set) var objectiveCName: String?

  /// Reads the words before a keyword such as `func`, `var` or `class`.
  package init(before keyword: Int, in file: SourceFile) {
    var next = keyword - 1
    while next >= 0 {
      let (open, end) = Self.brackets(endingAt: next, in: file)
      if file.isWord(open - 1), file.word(open - 2) == "@" {
        attributes.insert(file.word(open - 1))
        if open < end, file.word(open - 1) == "objc" { objectiveCName = file.words[open + 1..<next].joined() }
        next = open - 3
      } else if file.isWord(open - 1), Self.words.contains(file.word(open - 1)) {
        // `private(set)` applies only to the setter.
        if open == end { modifiers.append(file.word(open - 1)) }
        next = open - 2
      } else {
        break
      }
    }
  }

  /// Returns the start and end of the brackets that end at a position; if there are none, both are the position after
  /// it.
  private static func brackets(endingAt position: Int, in file: SourceFile) -> (open: Int, end: Int) {
    guard file.word(position) == ")" else { return (position + 1, position + 1) }
    var (open, depth) = (position, 0)
    while open > 0 {
      if file.word(open) == ")" { depth += 1 }
      if file.word(open) == "(" { depth -= 1 }
      if depth == 0 { break }
      open -= 1
    }
    return (open, position + 1)
  }

  /// Whether only the file can use the declaration.
  package var isPrivate: Bool { modifiers.contains { ["private", "fileprivate"].contains($0) } }

  /// Whether the declaration belongs to a type rather than to its instances.
  package var isStatic: Bool { modifiers.contains { ["static", "class"].contains($0) } }

  /// The words allowed between the attributes of a declaration and its keyword.
  package static let words: Set<String> = [
    "class", "convenience", "dynamic", "fileprivate", "final", "indirect", "infix", "internal", "isolated", "lazy",
    "mutating", "nonisolated", "nonmutating", "open", "optional", "override", "package", "postfix", "prefix", "private",
    "public", "required", "static", "unowned", "weak",
  ]
}
