// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

/// A member of an extension that overrides one of the superclass, which Swift allows only with Objective-C.
///
/// A build renames it and adds an override to the class that calls it.
struct ExtensionOverride {
  /// The position of `func` or `var` in its file.
  let position: Int
  /// The name as written, possibly in backquotes.
  let name: String
  /// The override that calls the member; nil if there can be none, because the member is generic or has variadic
  /// parameters.
  let member: MemberText?

  /// Returns the members of an extension that override others.
  static func all(in type: TypeDeclaration, of file: SourceFile) -> [ExtensionOverride] {
    guard type.kind == "extension" else { return [] }
    let methods = file.members(of: type, "func").filter { $0.head.modifiers.contains("override") }
    let properties = file.members(of: type, "var").filter { $0.head.modifiers.contains("override") }
    return methods.map { position, head in
      ExtensionOverride(position: position, name: file.word(position + 1), member: method(position, head, type, file))
    }
      + properties.map { position, head in
        ExtensionOverride(
          position: position, name: file.word(position + 1), member: property(position, head, type, file))
      }
  }

  /// Returns the new name for a member of an extension, which no superclass uses.
  static func renamed(_ name: String, in type: TypeDeclaration) -> String {
    let path = String(type.name.map { $0 == "." ? "_" : $0 })
    return "overridden_\(path)_" + name.filter { $0 != "`" }
  }

  private static func method(
    _ position: Int, _ head: DeclarationHead, _ type: TypeDeclaration, _ file: SourceFile
  ) -> MemberText? {
    let (name, open) = (file.word(position + 1), position + 2)
    guard file.word(open) == "(" else { return nil }
    var end = file.afterBrackets(open)
    let canThrow = (end..<file.words.count).prefix { !["{", "-"].contains(file.word($0)) }
      .contains { file.word($0) == "throws" }
    while end < file.words.count, file.word(end) != "{" {
      guard !["where", "async", "}"].contains(file.word(end)) else { return nil }
      end = ["(", "["].contains(file.word(end)) ? file.afterBrackets(end) : end + 1
    }
    let parameters = file.parameters(file.inside(open))
    let isSimple = parameters.allSatisfy { parameter in
      !["...", "@autoclosure"].contains { parameter.type.contains($0) }
    }
    guard isSimple, !file.inside(open).contains(where: { file.word($0) == "." && file.word($0 + 1) == "." }) else {
      return nil
    }
    let arguments = parameters.map { parameter in
      let value = (parameter.type.hasPrefix("inout ") ? "&" : "") + parameter.name
      return parameter.label == "_" ? value : "\(parameter.label): \(value)"
    }
    return MemberText([
      "\(prefix(position, head, file))override \(head.isStatic ? "class " : "")func \(name)\(file.text(open..<end)) {",
      "\(canThrow ? "try " : "")\(renamed(name, in: type))(\(arguments.joined(separator: ", ")))", "}",
    ])
  }

  /// Returns the attributes of a member that its override needs too, such as that of an actor.
  private static func prefix(_ position: Int, _ head: DeclarationHead, _ file: SourceFile) -> String {
    (head.attributes.contains("inlinable") ? "" : Declaration(around: position, in: file).attributes)
      + (head.modifiers.contains("nonisolated") ? "nonisolated " : "")
  }

  private static func property(
    _ position: Int, _ head: DeclarationHead, _ type: TypeDeclaration, _ file: SourceFile
  ) -> MemberText? {
    let name = file.word(position + 1)
    let end = file.afterType(position + 3)
    guard file.word(position + 2) == ":", file.word(end) == "{" else { return nil }
    let body = file.inside(end)
    // Only stored properties have observers, and an extension cannot declare one.
    guard !["willSet", "didSet"].contains(file.word(body.lowerBound)) else { return nil }
    let hasSetter = body.contains { file.word($0) == "set" && ["{", "("].contains(file.word($0 + 1)) }
    let start =
      "\(prefix(position, head, file))override \(head.isStatic ? "class " : "")"
      + "var \(name): \(file.text(position + 3..<end)) {"
    guard hasSetter else { return MemberText([start, renamed(name, in: type), "}"]) }
    return MemberText([
      start, "get {", renamed(name, in: type), "}", "set {", "\(renamed(name, in: type)) = newValue", "}", "}",
    ])
  }
}

extension TranslationPass {
  /// Renames the members of an extension that override others, so that the class can call them.
  mutating func moveOverrides(of type: TypeDeclaration) {
    if type.kind == "extension" {
      for position in file.uncertainMembers(of: type) where file.words[position] == "override" {
        emit(
          .warning,
          "Without Objective-C a member of an extension cannot override another, where this branch of #if is compiled. "
            + "Move it into the class \(type.name).", at: position)
      }
    }
    for override in ExtensionOverride.all(in: type, of: file) {
      guard purpose == .build, override.member != nil, program.canHaveOverrides(type.name) else {
        let place =
          program.canHaveOverrides(type.name) ? "the class \(type.name)" : "the declaration of \(type.name)"
        emit(
          .error, "Without Objective-C a member of an extension cannot override another. Move it into \(place).",
          at: override.position)
        continue
      }
      for position in Declaration(around: override.position, in: file).start..<override.position {
        if file.word(position) == "override" { remove(position..<position + 1) }
        if file.word(position) == "open" { edits.replace(file.tokens[position].range, "public") }
      }
      edits.replace(file.tokens[override.position + 1].range, ExtensionOverride.renamed(override.name, in: type))
    }
  }
}
