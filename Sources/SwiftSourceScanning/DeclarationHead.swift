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
  /// The attributes in source order, with their arguments; only in a head that was read forwards.
  package private(set) var attributeList: [Attribute] = []
  /// The position after the head.
  package let end: Int

  /// An attribute before a declaration.
  package struct Attribute {
    /// The position of the `@`.
    package let position: Int
    /// The name without `@` and module.
    package let name: String
    /// The arguments as written, with their parentheses; empty if there are none.
    package let arguments: String
    /// The words of the arguments.
    package let words: [String]
  }

  /// Reads the attributes and modifiers from a position on.
  package init(from start: Int, in file: SourceFile) {
    var next = start
    while next < file.words.count {
      if file.word(next) == "@", file.isWord(next + 1) {
        let position = next
        next += 2
        while file.word(next) == ".", file.isWord(next + 1) { next += 2 }
        let name = file.word(next - 1)
        if file.word(next) == "<" { next = file.afterBrackets(next) }
        let open = next
        // Parentheses after a space are the declaration's own, as in `@escaping (Int) -> Void`.
        if file.word(next) == "(", file.touchesPrevious(next) { next = file.afterBrackets(next) }
        attributes.insert(name)
        attributeList.append(
          Attribute(
            position: position, name: name, arguments: file.source(open..<next), words: Array(file.words[open..<next])))
        if name == "objc", open < next { objectiveCName = file.words[open + 1..<next - 1].joined() }
      } else if file.isWord(next), Self.words.contains(file.word(next)), !Self.isKeyword(next, in: file) {
        let hasArgument = file.word(next + 1) == "("
        if !hasArgument { modifiers.insert(file.word(next), at: 0) }
        next = hasArgument ? file.afterBrackets(next + 1) : next + 1
      } else {
        break
      }
    }
    end = next
  }

  /// Whether `class` declares a class, rather than a member of the type.
  private static func isKeyword(_ position: Int, in file: SourceFile) -> Bool {
    file.word(position) == "class"
      && !["var", "let", "func", "subscript"].contains(file.word(position + 1))
      && !(words.contains(file.word(position + 1)) && file.isWord(position + 2))
  }

  /// Reads the words before a keyword such as `func`, `var` or `class`.
  package init(before keyword: Int, in file: SourceFile) {
    end = keyword
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
