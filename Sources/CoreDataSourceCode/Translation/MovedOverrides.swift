// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// Moves members of extensions that override others into their classes, where every compiler accepts them.
///
/// A port does so first, since all systems accept the result. A member stays, and is reported, if it might have another
/// meaning in the class or not be compiled there: if the class is not in the sources or is in `#if`, if the extension
/// has attributes or conditions of its own, or if the member needs something that only the extension's file has.
package enum MovedOverrides {
  /// Returns the files with the members moved.
  package static func applied(to files: [SourceFile]) -> [SourceFile] {
    let layouts = files.map(FileLayout.init)
    var edits = files.map { _ in SourceEdits() }
    var changed: Set<Int> = []
    for (number, file) in files.enumerated() {
      for type in file.types where type.kind == "extension" && !type.isHidden {
        let overrides = ExtensionOverride.all(in: type, of: file)
        guard !overrides.isEmpty, let home = home(of: type.name, files, layouts),
          isPlain(type, in: file, layouts[number])
        else { continue }
        var moved: [String] = []
        for override in overrides.sorted(by: { $0.position < $1.position }) {
          guard let member = layouts[number].member(override.position, in: file),
            number == home.file || isKnown(member, of: number, in: home.file, files)
          else { continue }
          let access = type.access.isEmpty || hasAccess(override.position, in: file) ? "" : type.access
          let lines = layouts[number].lines(of: member, in: file, access: access)
          moved.append(indented(lines, as: home.indentation).joined(separator: file.lineBreak))
          edits[number].replace(member.cut, "")
        }
        guard !moved.isEmpty else { continue }
        let lineBreak = files[home.file].lineBreak
        let text = moved.joined(separator: lineBreak + lineBreak) + lineBreak
        edits[home.file].insert(
          (home.isEmpty ? "" : lineBreak) + (home.isOnOwnLine ? text : lineBreak + text + home.indentationOfBrace),
          at: home.place)
        changed.formUnion([number, home.file])
      }
    }
    return files.enumerated().map { number, file in
      changed.contains(number)
        ? SourceFile(path: file.path, bytes: edits[number].applied(to: file.bytes, keepsLines: false)) : file
    }
  }

  // MARK: The class

  /// The place for members of a class.
  private struct Home {
    let file: Int
    /// The offset of the byte before which they are inserted.
    let place: Int
    let isOnOwnLine: Bool
    let isEmpty: Bool
    let indentationOfBrace: String
    let indentation: String
  }

  /// Returns the end of a class; nil if there is none or more than one, or if it is in `#if`.
  private static func home(of name: String, _ files: [SourceFile], _ layouts: [FileLayout]) -> Home? {
    var found: Home?
    for (number, file) in files.enumerated() {
      for type in file.types where type.kind == "class" && type.name == name {
        guard found == nil, !type.isHidden, type.body.upperBound < file.tokens.count else { return nil }
        let brace = file.tokens[type.body.upperBound].range.lowerBound
        let start = file.tokens[type.body.lowerBound - 1].range.lowerBound
        guard layouts[number].isUnconditional(start), layouts[number].isUnconditional(brace) else { return nil }
        let pass = TranslationPass(file, ProgramTypes(files: [], models: []), hasResources: false, .port)
        let isOnOwnLine = pass.isFirstOnLine(brace)
        found = Home(
          file: number, place: isOnOwnLine ? file.startOfLine(brace) : brace, isOnOwnLine: isOnOwnLine,
          isEmpty: type.body.isEmpty, indentationOfBrace: pass.indentation(at: brace),
          indentation: pass.indentation(at: brace) + pass.indentationOfBlocks)
      }
    }
    return found
  }

  // MARK: Checks

  /// Whether an extension has no condition, access modifier or attribute that its members share, so that they mean the
  /// same in the class.
  private static func isPlain(_ type: TypeDeclaration, in file: SourceFile, _ layout: FileLayout) -> Bool {
    let brace = type.body.lowerBound - 1
    guard let keyword = (max(0, brace - 256)..<brace).last(where: { file.words[$0] == "extension" }) else {
      return false
    }
    return !file.words[keyword..<brace].contains("where") && !type.isPrivate
      && DeclarationHead(before: keyword, in: file).attributes.isSubset(of: ["objc", "nonobjc"])
      && layout.isUnconditional(file.tokens[keyword].range.lowerBound)
  }

  /// Whether everything used by a member is available in the file of its class: no private name, and no import missing
  /// there.
  private static func isKnown(_ member: FileLayout.Member, of number: Int, in home: Int, _ files: [SourceFile]) -> Bool
  {
    let file = files[number]
    guard file.imports.subtracting(files[home].imports.union(["Foundation"])).isEmpty else { return false }
    return file.privateNames.isDisjoint(with: file.words[member.tokens])
  }

  private static func hasAccess(_ position: Int, in file: SourceFile) -> Bool {
    DeclarationHead(before: position, in: file).modifiers.contains {
      ["open", "public", "package", "internal"].contains($0)
    }
  }

  /// Indents lines like the members of another type, if all are indented at least like the first.
  private static func indented(_ lines: [String], as indentation: String) -> [String] {
    let old = String((lines.first ?? "").prefix { $0 == " " || $0 == "\t" })
    let isEven = lines.allSatisfy { $0.hasPrefix(old) || $0.allSatisfy(\.isWhitespace) }
    return isEven ? lines.map { $0.hasPrefix(old) ? indentation + $0.dropFirst(old.count) : $0 } : lines
  }
}

/// The comments and conditions of a file, which are not part of its tokens.
private struct FileLayout {
  struct Member {
    let tokens: Range<Int>
    /// The bytes of the declaration with its comments.
    let text: Range<Int>
    /// The bytes to remove with it.
    let cut: Range<Int>
  }

  private let comments: [Range<Int>]
  /// The offsets at which the number of enclosing conditions changes, with the new number.
  private let conditions: [(offset: Int, depth: Int)]

  init(_ file: SourceFile) {
    var comments: [Range<Int>] = []
    var conditions: [(Int, Int)] = []
    for token in SourceScanner.tokens(file.bytes) {
      if token.kind == .comment { comments.append(token.range) }
      guard token.kind == .directive else { continue }
      let text = file.bytes[token.range]
      let depth = conditions.last?.1 ?? 0
      if text.starts(with: Array("#if".utf8)) { conditions.append((token.range.lowerBound, depth + 1)) }
      if text.starts(with: Array("#endif".utf8)) { conditions.append((token.range.lowerBound, max(0, depth - 1))) }
    }
    self.comments = comments
    self.conditions = conditions
  }

  /// Whether a byte is outside any `#if`.
  func isUnconditional(_ offset: Int) -> Bool { (conditions.last { $0.offset <= offset }?.depth ?? 0) == 0 }

  /// Returns the member with a keyword at a position; nil if its end is uncertain.
  func member(_ position: Int, in file: SourceFile) -> Member? {
    let first = Declaration(around: position, in: file).start
    var next = position + 2
    if file.words[position] == "func" {
      if file.word(next) == "<" { next = file.afterBrackets(next) }
      guard file.word(next) == "(" else { return nil }
      next = file.afterBrackets(next)
    }
    while next < file.words.count, file.word(next) != "{" {
      guard !["}", "=", ";", "func", "var", "let"].contains(file.word(next)) else { return nil }
      next = ["(", "["].contains(file.word(next)) ? file.afterBrackets(next) : next + 1
    }
    let end = file.afterBrackets(next)
    guard file.word(next) == "{", end <= file.tokens.count, file.word(end - 1) == "}" else { return nil }
    let text = start(of: file.tokens[first].range.lowerBound, in: file)..<afterComment(file.tokens[end - 1].range, file)
    guard isUnconditional(text.lowerBound), isUnconditional(text.upperBound) else { return nil }
    var cut = text
    if file.word(end) == ";" { cut = cut.lowerBound..<max(cut.upperBound, file.tokens[end].range.upperBound) }
    let line = file.startOfLine(cut.lowerBound)
    let rest = file.bytes[cut.upperBound...].prefix { $0 != UInt8(ascii: "\n") }
    if rest.allSatisfy(Self.isSpace), file.bytes[line..<cut.lowerBound].allSatisfy(Self.isSpace) {
      cut = line..<min(file.bytes.count, rest.endIndex + 1)
      cut = withoutBlankLine(cut, in: file)
    }
    return Member(tokens: first..<end, text: text, cut: cut)
  }

  /// Extends a range by a blank line that would otherwise be left at the beginning or end of braces, or beside another
  /// blank line.
  private func withoutBlankLine(_ cut: Range<Int>, in file: SourceFile) -> Range<Int> {
    guard cut.lowerBound > 0 else { return cut }
    let newline = UInt8(ascii: "\n")
    let before = file.startOfLine(cut.lowerBound - 1)
    let after = file.bytes[cut.upperBound...].firstIndex(of: newline).map { $0 + 1 } ?? file.bytes.count
    let last = file.bytes[before..<cut.lowerBound].filter { $0 != newline && !Self.isSpace($0) }
    let next = file.bytes[cut.upperBound..<after].filter { $0 != newline && !Self.isSpace($0) }
    if last.isEmpty, next.isEmpty || next.first == UInt8(ascii: "}") { return before..<cut.upperBound }
    return last.last == UInt8(ascii: "{") && next.isEmpty ? cut.lowerBound..<after : cut
  }

  /// Returns the start of the comments directly before a declaration, without a blank line between.
  private func start(of declaration: Int, in file: SourceFile) -> Int {
    var start = declaration
    for comment in comments.reversed() where comment.upperBound <= start {
      let between = file.bytes[comment.upperBound..<start]
      let isAlone = file.bytes[file.startOfLine(comment.lowerBound)..<comment.lowerBound].allSatisfy(Self.isSpace)
      let text = file.bytes[comment].dropFirst(2).drop(while: Self.isSpace)
      guard isAlone, !text.starts(with: Array("MARK".utf8)),
        between.allSatisfy({ Self.isSpace($0) || $0 == UInt8(ascii: "\n") }),
        between.filter({ $0 == UInt8(ascii: "\n") }).count <= 1
      else { break }
      start = comment.lowerBound
    }
    return start
  }

  /// Returns the end of a comment that follows a declaration on its line.
  private func afterComment(_ last: Range<Int>, _ file: SourceFile) -> Int {
    guard let comment = comments.first(where: { $0.lowerBound >= last.upperBound }),
      file.bytes[last.upperBound..<comment.lowerBound].allSatisfy(Self.isSpace)
    else { return last.upperBound }
    return comment.upperBound
  }

  /// Returns the lines of a member, the first one with its indentation.
  ///
  /// - Parameter access: the access modifier of the declaration in the class.
  func lines(of member: Member, in file: SourceFile, access: String) -> [String] {
    let declaration = file.tokens[member.tokens.lowerBound].range.lowerBound
    let line = file.startOfLine(member.text.lowerBound)
    let start = file.bytes[line..<member.text.lowerBound].allSatisfy(Self.isSpace) ? line : member.text.lowerBound
    let text =
      String(decoding: file.bytes[start..<declaration], as: UTF8.self) + access
      + String(decoding: file.bytes[declaration..<member.text.upperBound], as: UTF8.self)
    return text.split(separator: "\n", omittingEmptySubsequences: false)
      .flatMap { $0.split(separator: "\r\n", omittingEmptySubsequences: false) }.map(String.init)
  }

  private static func isSpace(_ byte: UInt8) -> Bool {
    byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") || byte == UInt8(ascii: "\r")
  }
}

extension SourceFile {
  /// The modules that a file imports.
  fileprivate var imports: Set<String> {
    Set(words.indices.filter { words[$0] == "import" }.map { word($0 + 1) })
  }

  /// The names that are private to the file.
  fileprivate var privateNames: Set<String> {
    let keywords: Set<String> = [
      "func", "var", "let", "class", "struct", "enum", "protocol", "typealias", "actor", "case",
    ]
    var result: Set<String> = []
    for position in words.indices where ["private", "fileprivate"].contains(words[position]) {
      guard
        let keyword = (position + 1..<min(words.count, position + 16)).first(where: { keywords.contains(words[$0]) })
      else { continue }
      // `class` can also be a modifier of a method.
      let isModifier = words[keyword] == "class" && ["func", "var"].contains(word(keyword + 1))
      result.insert(word(keyword + (isModifier ? 2 : 1)))
    }
    for type in types where type.isPrivate {
      result.formUnion(type.body.filter { keywords.contains(word($0)) }.map { word($0 + 1) })
    }
    return result.filter { !$0.isEmpty }
  }
}
