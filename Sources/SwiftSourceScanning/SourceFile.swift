// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A Swift source file, split into tokens.
package struct SourceFile {
  package let path: String
  package let bytes: [UInt8]
  /// The tokens compiled on systems other than Apple's, without comments and directives; or all tokens but comments.
  package let tokens: [SourceToken]
  /// The text of each token.
  package let words: [String]
  /// The positions of tokens that may or may not be compiled, such as those in `#if DEBUG`.
  private let uncertain: Set<Int>
  private let endsOfBrackets: [Int: Int]
  /// The offsets at which lines begin.
  private let lineStarts: [Int]
  /// The line break of the file: CR LF if it contains any.
  package let lineBreak: String
  /// The types declared or extended, in source order.
  package private(set) var types: [TypeDeclaration] = []
  /// For each token, the position in `types` of the innermost enclosing type; -1 for none.
  private var typePositions: [Int] = []

  /// Splits a file into tokens.
  ///
  /// - Parameters:
  ///   - path: the file's path, for messages.
  ///   - bytes: the contents of the file.
  ///   - keepsConditions: whether `#if` and its branches stay among the tokens, whatever their conditions are.
  package init(path: String, bytes: [UInt8], keepsConditions: Bool = false) {
    self.path = path
    self.bytes = bytes
    let isWide = zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: "\r") && $1 == UInt8(ascii: "\n") }
    lineBreak = isWide ? "\r\n" : "\n"
    lineStarts = [0] + bytes.indices.filter { bytes[$0] == UInt8(ascii: "\n") }.map { $0 + 1 }
    let all = SourceScanner.tokens(bytes)
    (tokens, uncertain) = keepsConditions ? (all.filter { $0.kind != .comment }, []) : Self.active(all, bytes)
    words = tokens.map { String(decoding: bytes[$0.range], as: UTF8.self) }
    endsOfBrackets = Self.endsOfBrackets(tokens, words)
    types = TypeDeclaration.all(in: self)
    typePositions = Self.innermost(types, count: words.count)
  }

  /// Removes comments, directives, and code excluded by `#if`.
  private static func active(_ tokens: [SourceToken], _ bytes: [UInt8]) -> (tokens: [SourceToken], uncertain: Set<Int>)
  {
    struct Branch {
      /// Whether the code around the `#if` is compiled.
      let isOuterActive: Bool
      /// Whether the conditions of the branches so far are known.
      var isCertain: Bool
      /// Whether an earlier branch is certainly compiled.
      var isDecided: Bool
      var isActive: Bool
    }
    var branches: [Branch] = []
    var result: [SourceToken] = []
    var uncertain: Set<Int> = []
    for token in tokens {
      switch token.kind {
      case .comment: continue
      case .directive:
        let text = String(decoding: bytes[token.range], as: UTF8.self)
        if text.hasPrefix("#if") {
          let answer = CompilationCondition.answer(String(text.dropFirst(3)))
          let outer = branches.last?.isActive ?? true
          branches.append(
            Branch(
              isOuterActive: outer, isCertain: answer != .unknown, isDecided: answer == .yes,
              isActive: outer && answer != .no))
        } else if text.hasPrefix("#endif") {
          branches.removeLast(min(1, branches.count))
        } else if let last = branches.indices.last {
          let isElse = !text.hasPrefix("#elseif")
          let answer = isElse ? .yes : CompilationCondition.answer(String(text.dropFirst(7)))
          branches[last].isActive = branches[last].isOuterActive && !branches[last].isDecided && answer != .no
          if answer == .yes { branches[last].isDecided = true }
          if answer == .unknown { branches[last].isCertain = false }
        }
      default:
        guard branches.last?.isActive ?? true else { continue }
        if branches.contains(where: { !$0.isCertain }) { uncertain.insert(result.count) }
        result.append(token)
      }
    }
    return (result, uncertain)
  }

  /// Whether the token at a position is certainly compiled on systems other than Apple's.
  package func isCertain(_ position: Int) -> Bool { !uncertain.contains(position) }

  /// Returns the word at a position, or an empty one outside the file.
  package func word(_ position: Int) -> String { words.indices.contains(position) ? words[position] : "" }

  /// Whether the token at a position is a word: an identifier or a keyword.
  package func isWord(_ position: Int) -> Bool { tokens.indices.contains(position) && tokens[position].kind == .word }

  /// Whether nothing stands between a token and the one before it.
  package func touchesPrevious(_ position: Int) -> Bool {
    position > 0 && tokens[position - 1].range.upperBound == tokens[position].range.lowerBound
  }

  /// Returns the position after the bracket that closes the one at a position.
  package func afterBrackets(_ position: Int) -> Int { endsOfBrackets[position] ?? position }

  /// Returns the position after each pair of brackets, by the position of the opening one; the end of the file if it is
  /// not closed. Each kind of bracket is matched separately.
  private static func endsOfBrackets(_ tokens: [SourceToken], _ words: [String]) -> [Int: Int] {
    let openings = [")": "(", "]": "[", "}": "{", ">": "<"]
    var open: [String: [Int]] = ["(": [], "[": [], "{": [], "<": []]
    var ends: [Int: Int] = [:]
    for (position, word) in words.enumerated() where tokens[position].kind == .mark {
      if open[word] != nil {
        open[word]?.append(position)
        ends[position] = words.count
      } else if let opening = openings[word], word != ">" || position == 0 || words[position - 1] != "-",
        let start = open[opening]?.popLast()
      {
        ends[start] = position + 1
      }
    }
    return ends
  }

  /// Returns the tokens between the bracket at a position and its closing bracket.
  package func inside(_ position: Int) -> Range<Int> {
    let end = afterBrackets(position)
    let closing = [")", "]", "}", ">"].contains(word(end - 1)) ? end - 1 : end
    return position + 1..<max(position + 1, min(closing, words.count))
  }

  /// Returns the line and column of a byte, counted from 1.
  package func place(of offset: Int) -> (line: Int, column: Int) {
    // The number of lines that begin at or before the byte.
    var (low, high) = (1, lineStarts.count)
    while low < high {
      let middle = (low + high + 1) / 2
      if lineStarts[middle - 1] <= offset { low = middle } else { high = middle - 1 }
    }
    return (low, offset - lineStarts[low - 1] + 1)
  }

  /// Returns the offset of the beginning of the line that contains a byte.
  package func startOfLine(_ offset: Int) -> Int { offset - place(of: offset).column + 1 }

  /// Returns the position of the first token that begins at or after a byte.
  package func token(from offset: Int) -> Int {
    var (low, high) = (0, tokens.count)
    while low < high {
      let middle = (low + high) / 2
      if tokens[middle].range.lowerBound < offset { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the innermost type whose body contains the token at a position; nil if there is none.
  package func type(around position: Int) -> TypeDeclaration? { typePosition(around: position).map { types[$0] } }

  /// Returns the position in `types` of the innermost type that contains a token; nil if there is none.
  package func typePosition(around position: Int) -> Int? {
    guard typePositions.indices.contains(position), typePositions[position] >= 0 else { return nil }
    return typePositions[position]
  }

  /// Returns the position of the innermost enclosing type for each token; -1 for none.
  private static func innermost(_ types: [TypeDeclaration], count: Int) -> [Int] {
    let ordered = types.indices.sorted {
      (types[$0].body.lowerBound, $0) < (types[$1].body.lowerBound, $1)
    }
    var result = [Int](repeating: -1, count: count)
    // The enclosing types of the token, the innermost last.
    var open: [Int] = []
    var next = 0
    for position in 0..<count {
      while let last = open.last, types[last].body.upperBound <= position { open.removeLast() }
      while next < ordered.count, types[ordered[next]].body.lowerBound <= position {
        if !types[ordered[next]].body.isEmpty { open.append(ordered[next]) }
        next += 1
      }
      if let last = open.last { result[position] = last }
    }
    return result
  }
}

/// A class, structure, enumeration, protocol or extension in a file.
package struct TypeDeclaration {
  /// `class`, `struct`, `enum`, `protocol`, `actor` or `extension`.
  package let kind: String
  /// The name, qualified by those of the enclosing types.
  package let name: String
  /// The name in `@objc(Name)`; nil if there is none.
  package let objectiveCName: String?
  /// Whether the type has `@objcMembers`.
  package let hasObjectiveCMembers: Bool
  /// Whether only the file can use the type, or the extension's members.
  package let isPrivate: Bool
  /// Whether the type is declared in a function, or may not be compiled.
  package let isHidden: Bool
  /// `public ` or `package ` if overriding members need that modifier, otherwise empty.
  package let access: String
  /// The superclass and protocols, without generic arguments.
  package let inherited: [String]
  /// The tokens between the braces.
  package let body: Range<Int>

  /// The name without those of the enclosing types.
  package let bareName: String

  private static let kinds: Set<String> = ["class", "struct", "enum", "protocol", "actor", "extension"]
  private static let members: Set<String> = ["func", "var", "let", "subscript", "init", "override", "final", "public"]

  package static func all(in file: SourceFile) -> [TypeDeclaration] {
    var result: [TypeDeclaration] = []
    // The types whose bodies have not ended yet, the innermost last.
    var open: [Int] = []
    var depth = 0
    for position in file.words.indices {
      if file.tokens[position].kind == .mark {
        if file.words[position] == "{" { depth += 1 }
        if file.words[position] == "}" { depth -= 1 }
      }
      guard file.isWord(position), kinds.contains(file.words[position]),
        ![".", ":", ",", "<", "("].contains(file.word(position - 1)), file.isWord(position + 1),
        !members.contains(file.word(position + 1))
      else { continue }
      var next = position + 1
      var name = file.word(next)
      var bareName = name
      next += 1
      while file.word(next) == ".", file.isWord(next + 1) {
        bareName = file.word(next + 1)
        name += "." + bareName
        next += 2
      }
      if file.word(next) == "<" { next = file.afterBrackets(next) }
      var inherited: [String] = []
      if file.word(next) == ":" {
        next += 1
        while next < file.words.count, file.word(next) != "{", file.word(next) != "where" {
          // Stops at the next declaration. `class` may also be the first item in the inheritance list of a protocol.
          if kinds.contains(file.word(next)), ![":", ",", "&"].contains(file.word(next - 1)) { break }
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
        // Without a body it is not a declaration, but a protocol's requirement or a parameter of that name.
        if file.word(next) == "}" || kinds.contains(file.word(next)) { break }
        next += 1
      }
      guard file.word(next) == "{" else { continue }
      while let last = open.last, result[last].body.upperBound <= position { open.removeLast() }
      // A type whose head is not complete has no body yet.
      let count = (open.lastIndex { result[$0].body.lowerBound <= position } ?? -1) + 1
      let around = count > 0 ? result[open[count - 1]] : nil
      let head = DeclarationHead(before: position, in: file)
      result.append(
        TypeDeclaration(
          kind: file.words[position], name: (around.map { $0.name + "." } ?? "") + name,
          objectiveCName: head.objectiveCName, hasObjectiveCMembers: head.attributes.contains("objcMembers"),
          isPrivate: head.isPrivate || around?.isPrivate == true,
          isHidden: count != depth || !file.isCertain(position), access: access(head), inherited: inherited,
          body: file.inside(next), bareName: bareName))
      open.append(result.count - 1)
    }
    return result
  }

  private static func access(_ head: DeclarationHead) -> String {
    if head.modifiers.contains(where: { ["public", "open"].contains($0) }) { return "public " }
    return head.modifiers.contains("package") ? "package " : ""
  }
}
