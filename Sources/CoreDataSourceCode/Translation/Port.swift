// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// A declaration that only Apple's compiler accepts, and its replacement for other systems.
struct PortedDeclaration {
  /// The bytes of the declaration.
  let range: Range<Int>
  /// The declarations for other systems.
  let lines: [String]
}

/// Output of a port, which contains both forms: one for Apple's systems and one for others.
extension TranslationPass {
  static let condition = "#if canImport(ObjectiveC)"

  // MARK: Attributes

  /// Keeps an attribute, and similar ones that follow, for Apple's systems.
  mutating func keepAttribute(_ position: Int) {
    // An attribute in the arguments of another is kept with it.
    guard position >= endOfKeptAttributes else { return }
    let declaration = Declaration(around: position, in: file)
    // The attributes of an @NSManaged declaration are kept with it.
    guard declaration.managed == nil, !isKept(beforeAttribute: position) else { return }
    var end = position
    var attributes: [String] = []
    while isKept(end), endOfAttribute(end) < file.tokens.count {
      attributes.append(file.text(end..<endOfAttribute(end)))
      end = endOfAttribute(end)
    }
    guard end > position else { return }
    endOfKeptAttributes = end
    let followsModifier = (declaration.start..<position).contains { DeclarationHead.words.contains(file.words[$0]) }
    if followsModifier {
      remove(position..<end)
      keep(attributes, before: file.tokens[declaration.start].range.lowerBound, replacing: 0)
    } else {
      let start = file.tokens[position].range.lowerBound
      var rest = file.tokens[end - 1].range.upperBound
      while rest < file.bytes.count, Self.isSpace(file.bytes[rest]) { rest += 1 }
      keep(attributes, before: start, replacing: rest - start)
    }
  }

  /// Whether an attribute that only Apple's compiler accepts begins at a position.
  private func isKept(_ position: Int) -> Bool {
    file.word(position) == "@" && ["objc", "objcMembers", "nonobjc"].contains(file.word(position + 1))
  }

  /// Whether such an attribute ends just before a position.
  private func isKept(beforeAttribute position: Int) -> Bool {
    (max(0, position - 64)..<position).contains { isKept($0) && endOfAttribute($0) == position }
  }

  /// Inserts lines for Apple's systems in place of some bytes.
  private mutating func keep(_ lines: [String], before start: Int, replacing count: Int) {
    let indentation = indentation(at: start)
    let text = ([Self.condition] + lines + ["#endif"]).map { $0 + lineBreak + indentation }.joined()
    edits.replace(start..<start + count, (isFirstOnLine(start) ? "" : lineBreak + indentation) + text)
  }

  /// Keeps a statement for Apple's systems, before its translation for others.
  ///
  /// - Returns: whether the statement has its own lines.
  mutating func keepLines(_ range: Range<Int>) -> Bool {
    let end = afterComment(range.upperBound)
    guard isFirstOnLine(range.lowerBound), isLastOnLine(end), !hasDirective(range) else { return false }
    let indentation = indentation(at: range.lowerBound)
    let original = String(decoding: file.bytes[range], as: UTF8.self)
    edits.insert(
      [Self.condition, original, "#else", ""].joined(separator: lineBreak + indentation), at: range.lowerBound)
    edits.insert(lineBreak + indentation + "#endif", at: end)
    return true
  }

  // MARK: Declarations

  /// Records an `@NSManaged` declaration.
  mutating func keep(_ positions: Range<Int>, _ lines: [String]) {
    guard let last = positions.last, last < file.tokens.count else { return }
    let range = file.tokens[positions.lowerBound].range.lowerBound..<file.tokens[last].range.upperBound
    guard !hasDirective(range) else {
      return emit(.error, "#if divides the declaration. Write it twice, once in each branch.", at: positions.lowerBound)
    }
    guard managedDeclarations.last.map({ $0.range.upperBound <= range.lowerBound }) ?? true else {
      return emit(.error, "The attributes of the declaration contain another one.", at: positions.lowerBound)
    }
    managedDeclarations.append(PortedDeclaration(range: range, lines: lines))
  }

  /// Keeps the recorded declarations for Apple's systems, adjacent ones together, and adds those for other systems.
  mutating func keepManagedDeclarations() {
    var groups: [(range: Range<Int>, lines: [String])] = []
    for declaration in managedDeclarations {
      if let last = groups.last, isGap(last.range.upperBound..<declaration.range.lowerBound) {
        groups[groups.count - 1].range = last.range.lowerBound..<declaration.range.upperBound
        groups[groups.count - 1].lines += declaration.lines
      } else {
        groups.append((declaration.range, declaration.lines))
      }
    }
    for (range, lines) in groups {
      let start = afterComments(before: range.lowerBound)
      let end = afterComment(range.upperBound)
      let indentation = indentation(at: start)
      let original = String(decoding: file.bytes[start..<end], as: UTF8.self)
      let text = [Self.condition, original, "#else"] + lines + ["#endif"]
      var new = text.joined(separator: lineBreak + indentation)
      if !isFirstOnLine(start) { new = lineBreak + indentation + new }
      if !isLastOnLine(end) { new += lineBreak + indentation }
      edits.replace(start..<end, new)
    }
  }

  /// Whether two declarations are separated only by white space, semicolons and comments.
  private func isGap(_ range: Range<Int>) -> Bool {
    !hasDirective(range)
      && (file.token(from: range.lowerBound)..<file.token(from: range.upperBound)).allSatisfy { file.words[$0] == ";" }
  }

  /// Whether a range of bytes contains a line with a compiler directive.
  func hasDirective(_ range: Range<Int>) -> Bool {
    let text = String(decoding: file.bytes[range], as: UTF8.self)
    return text.split(whereSeparator: \.isNewline).contains { line in
      ["#if", "#else", "#endif"].contains { line.drop(while: \.isWhitespace).hasPrefix($0) }
    }
  }

  /// Returns the start of the comments on the lines before a declaration.
  func afterComments(before start: Int) -> Int {
    guard isFirstOnLine(start) else { return start }
    var result = start
    var line = start
    while true {
      let end = startOfLine(line) - 1
      guard end >= 0 else { return result }
      let begin = startOfLine(end)
      let text = String(decoding: file.bytes[begin..<end], as: UTF8.self).drop(while: \.isWhitespace)
      guard text.hasPrefix("//"), !text.hasPrefix("// MARK") else { return result }
      result = end - text.utf8.count
      line = begin
    }
  }

  /// Returns the end of a comment that follows a declaration on its line.
  func afterComment(_ end: Int) -> Int {
    var next = end
    while next < file.bytes.count, file.bytes[next] == UInt8(ascii: " ") || file.bytes[next] == UInt8(ascii: "\t") {
      next += 1
    }
    guard file.bytes[next...].starts(with: Array("//".utf8)) else { return end }
    while next < file.bytes.count, !Self.isBreak(file.bytes[next]) { next += 1 }
    return next
  }

  // MARK: Members

  /// Adds members to a class for systems without Objective-C.
  mutating func addElsewhere(_ members: [MemberText], to type: TypeDeclaration) {
    let brace = file.tokens[type.body.upperBound].range.lowerBound
    let start = indentation(at: brace)
    let block = indentationOfBlocks
    let lines = members.map { $0.lines(indentation: (start + block, block)).joined(separator: lineBreak) }
    let text =
      [start + block + "#if !canImport(ObjectiveC)", lines.joined(separator: lineBreak + lineBreak)]
      + [start + block + "#endif", ""]
    let isAlone = isFirstOnLine(brace)
    let place = isAlone ? startOfLine(brace) : brace
    // Members are separated by blank lines.
    let before = file.bytes[..<place]
    let hasBlankLine = isAlone && place > 0 && isFirstOnLine(before.count - 1)
    edits.insert(
      (hasBlankLine ? "" : lineBreak) + text.joined(separator: lineBreak) + (isAlone ? "" : start), at: place)
  }

  /// Returns the additional indentation of a block in the file.
  func findIndentationOfBlocks() -> String {
    for type in file.types {
      guard let first = type.body.first, first < file.tokens.count else { continue }
      let offset = file.tokens[first].range.lowerBound
      let (inner, outer) = (
        indentation(at: offset), indentation(at: file.tokens[type.body.lowerBound - 1].range.lowerBound)
      )
      if isFirstOnLine(offset), inner.hasPrefix(outer), inner != outer { return String(inner.dropFirst(outer.count)) }
    }
    return "    "
  }

  // MARK: Requests

  /// Replaces a cast of a class's request with a request of that type, if the cast is of that form.
  ///
  /// - Parameters:
  ///   - position: the position of `as`.
  ///   - end: the position after the cast.
  /// - Returns: whether the cast was replaced.
  mutating func replaceRequestCast(_ position: Int, _ end: Int) -> Bool {
    let name = file.word(position - 5)
    let call = file.words[max(0, position - 4)..<position].joined()
    guard call == ".fetchRequest()", file.isWord(position - 5), file.word(position - 6) != ".",
      file.words[position + 2..<end].joined() == "NSFetchRequest<\(name)>", let entity = program.entityName(of: name)
    else { return false }
    let range = file.tokens[position - 5].range.lowerBound..<file.tokens[end - 1].range.upperBound
    edits.replace(range, "NSFetchRequest<\(name)>(entityName: \(SwiftName.literal(entity)))")
    return true
  }

  // MARK: Imports

  /// The names that Apple's Foundation has, and that `CoreData` provides on other systems.
  private static let providedNames: Set<String> = [
    "AutoreleasingUnsafeMutablePointer", "NSComparisonPredicate", "NSCompoundPredicate", "NSExpression", "NSPredicate",
    "NSSecureUnarchiveFromDataTransformer", "NSSortDescriptor", "NSValueTransformerName", "UndoManager",
    "ValueTransformer",
  ]

  /// The names that on other systems only `CoreData` has, or has in another form.
  static let movedNames = providedNames.subtracting(["NSCompoundPredicate", "NSPredicate", "NSSortDescriptor"])

  /// Whether the file uses names that `CoreData` provides on other systems, without importing it.
  var needsCoreData: Bool {
    file.words.contains(where: Self.providedNames.contains)
      && !file.words.indices.contains { file.words[$0] == "CoreData" && file.word($0 - 1) == "import" }
  }

  // MARK: Lines

  var lineBreak: String { file.lineBreak }

  private static func isBreak(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
  private static func isSpace(_ byte: UInt8) -> Bool {
    isBreak(byte) || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
  }

  func startOfLine(_ offset: Int) -> Int { file.startOfLine(offset) }

  /// Returns the white space at the beginning of the line that contains a byte.
  func indentation(at offset: Int) -> String {
    let line = file.bytes[startOfLine(offset)...].prefix { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    return String(decoding: line, as: UTF8.self)
  }

  func isFirstOnLine(_ offset: Int) -> Bool {
    file.bytes[startOfLine(offset)..<offset].allSatisfy(Self.isSpace)
  }

  func isLastOnLine(_ offset: Int) -> Bool {
    file.bytes[offset...].prefix { $0 != UInt8(ascii: "\n") }.allSatisfy(Self.isSpace)
  }
}
