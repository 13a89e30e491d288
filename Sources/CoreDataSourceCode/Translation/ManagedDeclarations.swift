// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// Translation of `@NSManaged` properties and methods, which get accessors.
extension TranslationPass {
  /// Translates the declaration with the attribute at a position.
  mutating func managed(_ position: Int) {
    let declaration = Declaration(around: position, in: file)
    guard let type = file.type(around: position), ["class", "extension"].contains(type.kind) else {
      return emit(.error, "@NSManaged belongs to a property or a method of a class.", at: position)
    }
    guard declaration.managed == position else {
      return emit(.error, "The declaration has @NSManaged twice.", at: position)
    }
    switch file.word(declaration.keyword) {
    case "var": properties(declaration, in: type)
    case "func": method(declaration, in: type)
    default: emit(.error, "@NSManaged belongs to a property or a method of a class.", at: position)
    }
  }

  // MARK: Properties

  private mutating func properties(_ declaration: Declaration, in type: TypeDeclaration) {
    var next = declaration.keyword + 1
    // The names whose type is declared after a later name, with the ends of their tokens.
    var waiting: [(name: String, end: Int)] = []
    var ported: [String] = []
    while file.isWord(next) {
      let name = file.word(next).filter { $0 != "`" }
      let nameEnd = file.tokens[next].range.upperBound
      next += 1
      if file.word(next) == ":" {
        let start = next + 1
        next = file.afterType(start)
        guard next > start else { break }
        let typeText = file.text(start..<next)
        switch purpose {
        case .build:
          for (name, end) in waiting {
            edits.insert(": \(typeText)" + accessors(of: name, typeText, in: type), at: end)
          }
          edits.insert(accessors(of: name, typeText, in: type), at: file.tokens[next - 1].range.upperBound)
        case .port:
          for name in waiting.map(\.name) + [name] {
            ported += portedLines(of: name, typeText, declaration.attributes + declaration.modifiers, in: type)
          }
        }
        waiting = []
      } else {
        waiting.append((name, nameEnd))
      }
      guard file.word(next) == "," else { break }
      if purpose == .build { edits.replace(file.tokens[next].range, "; \(declaration.modifiers)var") }
      next += 1
    }
    if !waiting.isEmpty || next == declaration.keyword + 1 {
      return emit(.error, "An @NSManaged property needs a name and a type.", at: declaration.keyword)
    }
    if purpose == .port { keep(declaration.start..<next, ported) }
  }

  private mutating func portedLines(
    of name: String, _ value: String, _ head: String, in type: TypeDeclaration
  ) -> [String] {
    let declared = SwiftName.declared(name) ?? name
    let isNew = needs(Accessors.constant(for: name), in: type)
    return ["\(head)var \(declared): \(value) {"] + Accessors.lines(of: name).map { indentationOfBlocks + $0 } + ["}"]
      + (isNew ? [Accessors.declaration(for: name, value)] : [])
  }

  private mutating func accessors(of name: String, _ value: String, in type: TypeDeclaration) -> String {
    let isNew = needs(Accessors.constant(for: name), in: type)
    return " " + Accessors.body(of: name) + (isNew ? "; " + Accessors.declaration(for: name, value) : "")
  }

  // MARK: Methods

  private mutating func method(_ declaration: Declaration, in type: TypeDeclaration) {
    let open = declaration.keyword + 2
    let close = file.afterBrackets(open)
    guard file.word(open) == "(", close <= file.tokens.count, file.word(close - 1) == ")" else {
      return emit(.error, "An @NSManaged method needs parameters.", at: declaration.keyword)
    }
    let parameters = file.parameters(file.inside(open))
    guard
      let member = MemberMethod(
        selector: declaration.selector, name: file.word(declaration.keyword + 1), labels: parameters.map(\.label))
    else {
      return emit(
        .error,
        "Objective-C makes no method of this name for a relationship. Write it, with mutableSetValue(forKey:) or "
          + "mutableOrderedSetValue(forKey:).", at: declaration.keyword + 1)
    }
    let constant = Accessors.membersConstant(for: member.key)
    let call = member.call("Self." + constant, parameters.map(\.name))
    let constantDeclaration = needs(constant, in: type) ? Accessors.membersDeclaration(for: member.key) : nil
    // Without Objective-C, an array literal cannot be an `NSSet`.
    let isSet = ["NSSet", "NSOrderedSet"].contains(parameters[0].type)
    let forArrays =
      member.takesMembers && isSet
      ? "\(declaration.modifiers)func \(file.word(declaration.keyword + 1))"
        + "(_ \(parameters[0].name): [NSManagedObject]) { \(call) }" : nil
    let others = [forArrays, constantDeclaration].compactMap { $0 }
    switch purpose {
    case .build:
      edits.insert(
        ([" { \(call) }"] + others).joined(separator: "; "), at: file.tokens[close - 1].range.upperBound)
    case .port:
      let head = declaration.attributes + declaration.modifiers + file.text(declaration.keyword..<close)
      keep(declaration.start..<close, ["\(head) { \(call) }"] + others)
    }
  }
}

/// The words around an attribute of a declaration.
struct Declaration {
  /// The position of the first attribute or modifier.
  let start: Int
  /// The position of the declaration's keyword, such as `var` or `func`.
  let keyword: Int
  /// The modifiers, each followed by a space.
  private(set) var modifiers = ""
  /// The attributes supported by every compiler, each followed by a space.
  private(set) var attributes = ""
  /// The position of the first `@NSManaged`; nil if there is none.
  private(set) var managed: Int?
  /// The selector in `@objc(selector:)`; nil if there is none.
  private(set) var selector: String?

  /// The maximum number of tokens examined on either side. No declaration has that many attributes, and without a limit
  /// a file with thousands in a row would take quadratic time.
  private static let maxTokenCount = 256

  init(around position: Int, in file: SourceFile) {
    var start = position
    while start > max(0, position - Self.maxTokenCount) {
      if file.word(start - 1) == ")" {
        var open = start - 1
        while open > 0, file.word(open) != "(" { open -= 1 }
        guard open > 0, file.word(open - 2) == "@" || DeclarationHead.words.contains(file.word(open - 1)) else { break }
        start = file.word(open - 2) == "@" ? open - 2 : open - 1
      } else if file.word(start - 2) == "@" {
        start -= 2
      } else if DeclarationHead.words.contains(file.word(start - 1)) {
        start -= 1
      } else {
        break
      }
    }
    self.start = start
    var next = start
    while next < min(file.words.count, position + Self.maxTokenCount) {
      if file.word(next) == "@" {
        let end = file.word(next + 2) == "(" ? file.afterBrackets(next + 2) : next + 2
        guard end - next <= Self.maxTokenCount else { break }
        if file.word(next + 1) == "NSManaged", managed == nil { managed = next }
        if !["NSManaged", "objc", "objcMembers", "nonobjc"].contains(file.word(next + 1)) {
          attributes += file.text(next..<min(end, file.words.count)) + " "
        }
        if file.word(next + 1) == "objc", end > next + 2 { selector = file.words[file.inside(next + 2)].joined() }
        next = end
      } else if DeclarationHead.words.contains(file.word(next)),
        file.word(next) != "class" || file.word(next + 1) != ":"
      {
        let end = file.word(next + 1) == "(" ? file.afterBrackets(next + 1) : next + 1
        guard end - next <= Self.maxTokenCount else { break }
        if file.word(next) != "dynamic" { modifiers += file.words[next..<min(end, file.words.count)].joined() + " " }
        next = end
      } else {
        break
      }
    }
    keyword = next
  }
}

/// A method that Objective-C generates for a to-many relationship.
private struct MemberMethod {
  enum Kind {
    case add, remove, insert, removeAt, replace
  }

  let kind: Kind
  let key: String

  /// - Parameters:
  ///   - selector: the selector in `@objc(…)`; nil if there is none.
  ///   - name: the method's name in Swift.
  ///   - labels: the labels of its parameters.
  init?(selector: String?, name: String, labels: [String]) {
    let found: (Kind, String)? =
      selector.flatMap { Self.bySelector($0) } ?? Self.byName(name, labels)
    guard let (kind, title) = found, let first = title.first, first.isLetter || first == "_",
      labels.count == ([.insert, .replace].contains(kind) ? 2 : 1)
    else { return nil }
    self.kind = kind
    key = title.prefix(1).lowercased() + title.dropFirst()
  }

  private static func bySelector(_ selector: String) -> (Kind, String)? {
    let forms: [(Kind, prefix: String, suffix: String)] = [
      (.insert, "insertObject:in", "AtIndex:"), (.removeAt, "removeObjectFrom", "AtIndex:"),
      (.replace, "replaceObjectIn", "AtIndex:withObject:"), (.insert, "insert", ":atIndexes:"),
      (.removeAt, "remove", "AtIndexes:"), (.add, "add", "Object:"), (.remove, "remove", "Object:"),
    ]
    for (kind, prefix, suffix) in forms {
      if let title = between(prefix, suffix, selector) { return (kind, title) }
    }
    if selector.hasPrefix("replace"), let end = selector.range(of: "AtIndexes:with") {
      return (.replace, String(selector[selector.index(selector.startIndex, offsetBy: 7)..<end.lowerBound]))
    }
    return between("add", ":", selector).map { (.add, $0) } ?? between("remove", ":", selector).map { (.remove, $0) }
  }

  private static func byName(_ name: String, _ labels: [String]) -> (Kind, String)? {
    let last = labels.last ?? "_"
    let forms: [(Kind, prefix: String, suffix: String, label: String?)] = [
      (.removeAt, "removeObjectFrom", "", "at"), (.removeAt, "removeFrom", "", "at"),
      (.removeAt, "removeObjectFrom", "AtIndex", "_"), (.removeAt, "remove", "", "at"),
      (.insert, "insertInto", "", "at"), (.insert, "insert", "", "at"), (.replace, "replaceObjectIn", "", "with"),
      (.replace, "replace", "", "with"), (.add, "addTo", "", "_"), (.remove, "removeFrom", "", "_"),
      (.add, "add", "Object", "_"), (.remove, "remove", "Object", "_"), (.add, "add", "", "_"),
      (.remove, "remove", "", "_"),
    ]
    if name == "insertObject", let title = between("in", "AtIndex", last) ?? between("in", "At", last) {
      return (.insert, title)
    }
    for (kind, prefix, suffix, label) in forms where label == last {
      if let title = between(prefix, suffix, name) { return (kind, title) }
    }
    return nil
  }

  /// Returns the text between a prefix and a suffix if it is capitalized like a name in the middle of another,
  /// otherwise nil.
  private static func between(_ prefix: String, _ suffix: String, _ text: String) -> String? {
    guard text.hasPrefix(prefix), text.hasSuffix(suffix), text.count > prefix.count + suffix.count else { return nil }
    let title = text.dropFirst(prefix.count).dropLast(suffix.count)
    guard let first = title.first, !first.isLowercase, !title.contains(":") else { return nil }
    return String(title)
  }

  /// Whether the method adds or removes all members of a collection.
  var takesMembers: Bool { kind == .add || kind == .remove }

  func call(_ constant: String, _ names: [String]) -> String {
    switch kind {
    case .add: "\(constant).add(\(names[0]), to: self)"
    case .remove: "\(constant).remove(\(names[0]), from: self)"
    case .insert: "\(constant).insert(\(names[0]), at: \(names[1]), in: self)"
    case .removeAt: "\(constant).remove(at: \(names[0]), from: self)"
    case .replace: "\(constant).replace(at: \(names[0]), with: \(names[1]), in: self)"
    }
  }
}
