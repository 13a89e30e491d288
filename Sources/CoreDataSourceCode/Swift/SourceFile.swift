// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A file of Swift source code, in tokens.
package struct SourceFile {
  package let path: String
  let bytes: [UInt8]
  /// The tokens that are compiled outside Apple's systems, without comments and directives.
  let tokens: [SourceToken]
  /// The text of each token.
  let words: [String]
  /// The types that are declared or extended, in the order of their beginnings.
  private(set) var types: [TypeDeclaration] = []

  /// Splits a file.
  ///
  /// - Parameter path: the file's path, for messages.
  package init(path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
    tokens = Self.active(SourceScanner.tokens(bytes), bytes)
    words = tokens.map { String(decoding: bytes[$0.range], as: UTF8.self) }
    types = TypeDeclaration.all(in: self)
  }

  /// Leaves out comments, directives, and what `#if` excludes.
  private static func active(_ tokens: [SourceToken], _ bytes: [UInt8]) -> [SourceToken] {
    struct Branch {
      /// Whether the code around the `#if` is compiled.
      let isOuterActive: Bool
      /// Whether a branch before this one is certainly compiled.
      var isDecided: Bool
      var isActive: Bool
    }
    var branches: [Branch] = []
    var result: [SourceToken] = []
    for token in tokens {
      switch token.kind {
      case .comment: continue
      case .directive:
        let text = String(decoding: bytes[token.range], as: UTF8.self)
        if text.hasPrefix("#if") {
          let answer = CompilationCondition.answer(String(text.dropFirst(3)))
          let outer = branches.last?.isActive ?? true
          branches.append(Branch(isOuterActive: outer, isDecided: answer == .yes, isActive: outer && answer != .no))
        } else if text.hasPrefix("#endif") {
          branches.removeLast(min(1, branches.count))
        } else if let last = branches.indices.last {
          let isElse = !text.hasPrefix("#elseif")
          let answer = isElse ? .yes : CompilationCondition.answer(String(text.dropFirst(7)))
          branches[last].isActive = branches[last].isOuterActive && !branches[last].isDecided && answer != .no
          if answer == .yes { branches[last].isDecided = true }
        }
      default:
        if branches.last?.isActive ?? true { result.append(token) }
      }
    }
    return result
  }

  /// Returns the word at a position, or an empty one beyond the ends.
  func word(_ position: Int) -> String { words.indices.contains(position) ? words[position] : "" }

  /// Whether the token at a position is a word: an identifier or a keyword.
  func isWord(_ position: Int) -> Bool { tokens.indices.contains(position) && tokens[position].kind == .word }

  /// Returns the position after the bracket that closes the one at a position.
  func afterBrackets(_ position: Int) -> Int {
    let pairs = ["(": ")", "[": "]", "{": "}", "<": ">"]
    guard let closing = pairs[word(position)] else { return position }
    let opening = word(position)
    var depth = 0
    var next = position
    while next < words.count {
      if tokens[next].kind == .mark {
        if words[next] == opening { depth += 1 }
        if words[next] == closing, !(closing == ">" && word(next - 1) == "-") {
          depth -= 1
          if depth == 0 { return next + 1 }
        }
      }
      next += 1
    }
    return next
  }

  /// The tokens between the bracket at a position and the one that closes it.
  func inside(_ position: Int) -> Range<Int> {
    let end = afterBrackets(position)
    let closing = [")", "]", "}", ">"].contains(word(end - 1)) ? end - 1 : end
    return position + 1..<max(position + 1, min(closing, words.count))
  }

  /// The line and column, from 1, of a byte.
  func place(of offset: Int) -> (line: Int, column: Int) {
    var (line, start) = (1, 0)
    for position in 0..<min(offset, bytes.count) where bytes[position] == UInt8(ascii: "\n") {
      line += 1
      start = position + 1
    }
    return (line, offset - start + 1)
  }

  /// The innermost type whose body has the token at a position; nil outside all types.
  func type(around position: Int) -> TypeDeclaration? { types.last { $0.body.contains(position) } }
}

/// A class, structure, enumeration, protocol or extension in a file.
struct TypeDeclaration {
  /// `class`, `struct`, `enum`, `protocol`, `actor` or `extension`.
  let kind: String
  /// The name with those of the types around it, with dots between them.
  let name: String
  /// The name in `@objc(Name)`; nil for none.
  let objectiveCName: String?
  /// Whether the type has `@objcMembers`.
  let hasObjectiveCMembers: Bool
  /// `public ` or `package ` if members that override others must say so, else empty.
  let access: String
  /// The superclass and protocols, without generic arguments.
  let inherited: [String]
  /// The tokens between the braces.
  let body: Range<Int>

  /// The name without those of the types around it.
  var bareName: String { name.split(separator: ".").last.map(String.init) ?? name }

  private static let kinds: Set<String> = ["class", "struct", "enum", "protocol", "actor", "extension"]
  private static let members: Set<String> = ["func", "var", "let", "subscript", "init", "override", "final", "public"]

  static func all(in file: SourceFile) -> [TypeDeclaration] {
    var result: [TypeDeclaration] = []
    for position in file.words.indices where file.isWord(position) && kinds.contains(file.words[position]) {
      let previous = file.word(position - 1)
      guard previous != ".", previous != ":", previous != ",", previous != "<", file.isWord(position + 1),
        !members.contains(file.word(position + 1))
      else { continue }
      var next = position + 1
      var name = file.word(next)
      next += 1
      while file.word(next) == ".", file.isWord(next + 1) {
        name += "." + file.word(next + 1)
        next += 2
      }
      if file.word(next) == "<" { next = file.afterBrackets(next) }
      var inherited: [String] = []
      if file.word(next) == ":" {
        next += 1
        while next < file.words.count, file.word(next) != "{", file.word(next) != "where" {
          if file.isWord(next) {
            var type = file.word(next)
            while file.word(next + 1) == ".", file.isWord(next + 2) {
              type += "." + file.word(next + 2)
              next += 2
            }
            inherited.append(type)
          }
          next = file.word(next) == "<" ? file.afterBrackets(next) : next + 1
        }
      }
      while next < file.words.count, file.word(next) != "{" {
        // Without a body it is no declaration: a protocol's requirement, or a parameter of that name.
        if file.word(next) == "}" || kinds.contains(file.word(next)) { break }
        next += 1
      }
      guard file.word(next) == "{" else { continue }
      let outer = result.last { $0.body.contains(position) }.map { $0.name + "." } ?? ""
      let before = leading(position, in: file)
      result.append(
        TypeDeclaration(
          kind: file.words[position], name: outer + name, objectiveCName: before.objectiveCName,
          hasObjectiveCMembers: before.hasMembers, access: before.access,
          inherited: inherited, body: file.inside(next)))
    }
    return result
  }

  /// Finds `@objc(Name)`, `@objcMembers` and the access level among the attributes and modifiers before a declaration.
  private static func leading(
    _ position: Int, in file: SourceFile
  ) -> (objectiveCName: String?, hasMembers: Bool, access: String) {
    var (name, hasMembers, access): (String?, Bool, String) = (nil, false, "")
    var next = position - 1
    while next >= 0 {
      if file.word(next) == ")" {
        let end = next
        while next >= 0, file.word(next) != "(" { next -= 1 }
        if file.word(next - 1) == "objc", file.word(next - 2) == "@" {
          name = file.words[min(next + 1, end)..<end].joined()
        }
        next -= 1
      } else if file.isWord(next), Modifiers.all.contains(file.word(next)) || file.word(next - 1) == "@" {
        if ["public", "open"].contains(file.word(next)) { access = "public " }
        if file.word(next) == "objcMembers" { hasMembers = true }
        if file.word(next) == "package" { access = "package " }
        next -= file.word(next - 1) == "@" ? 2 : 1
      } else {
        break
      }
    }
    return (name, hasMembers, access)
  }
}

/// The words that may stand between the attributes of a declaration and its keyword.
enum Modifiers {
  static let all: Set<String> = [
    "class", "convenience", "dynamic", "fileprivate", "final", "indirect", "infix", "internal", "isolated", "lazy",
    "mutating", "nonisolated", "nonmutating", "open", "optional", "override", "package", "postfix", "prefix", "private",
    "public", "required", "static", "unowned", "weak",
  ]
}
