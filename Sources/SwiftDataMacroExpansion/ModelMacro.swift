// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

extension MacroExpansion {
  /// Expands `@Model`.
  mutating func expandModel(_ request: ExpansionRequest, role: String) {
    guard let declaration = request.declSyntax else { return }
    switch role {
    case "member":
      let type = TypeHead(declaration, in: request.lexicalContext)
      guard type.keyword == "class" else {
        return report(
          "@Model can only be attached to a class, because models have an identity; '\(type.name)' is "
            + "\(type.keywordWithArticle).",
          at: type.file.offset(of: type.head.end), of: declaration)
      }
      let model = ModelClass(type, conformances: request.conformanceListSyntax)
      checkModel(model, declaration)
      addMembers(of: model)
    case "memberAttribute":
      // The class, without its members.
      let around = request.lexicalContext?.first
      guard around.map({ TypeHead($0, in: nil).keyword == "class" }) ?? true else { return }
      for member in declaration.tokens.memberDeclarations(in: 0..<Int.max) {
        guard case .property(let property) = member, property.isPersisted, property.persistenceProblem == nil else {
          return
        }
        add("@_PersistedProperty")
      }
    case "extension":
      let type = TypeHead(declaration, in: request.lexicalContext)
      guard let name = request.extendedTypeSyntax?.source, type.keyword == "class" else { return }
      // The compiler leaves out what the class, or its superclass, conforms to already.
      let missing = request.conformanceListSyntax?.tokens.words ?? []
      let protocols = [("PersistentModel", "SwiftData.PersistentModel"), ("Observable", "Observation.Observable")]
        .filter { missing.contains($0.0) }.map(\.1)
      guard !protocols.isEmpty else { return }
      add("\(Isolation.none(type))extension \(name): \(protocols.joined(separator: ", ")) {}")
    default: break
    }
  }
}

/// The modifier of declarations that belong to no actor.
///
/// A class may belong to the main actor, because it says so or because its module has that for all. Its properties then
/// do too, but not what contexts use: they make models wherever they are used.
enum Isolation {
  /// Returns the modifier of a type or an extension, with a space.
  static func none(_ type: TypeHead) -> String {
    // The compiler that expands macros has built this module. Older ones lack the modifier there, and modules on the
    // main actor.
    #if compiler(>=6.2)
    return "nonisolated "
    #else
    return type.head.modifiers.contains("nonisolated") ? "nonisolated " : ""
    #endif
  }

  /// The modifier of a stored property that is not sendable, with a space.
  static var unsafe: String {
    #if compiler(>=6.2)
    return "nonisolated(unsafe) "
    #else
    return ""
    #endif
  }
}

/// A class with `@Model`.
struct ModelClass {
  let type: TypeHead
  /// Whether the superclass is a model too.
  let isSubclass: Bool
  let members: [MemberDeclaration]

  init(_ type: TypeHead, conformances: SourceSyntax?) {
    self.type = type
    members = type.members
    // The protocols that the class still has to conform to. A superclass cannot be told from a protocol by its name,
    // but a model's subclass conforms already. There is no list if none is missing.
    let isMissing = conformances?.tokens.words.contains("PersistentModel") ?? false
    isSubclass = !isMissing && !type.inherited.isEmpty && !type.inherited.contains("PersistentModel")
  }

  var name: String { type.name }

  /// The persisted properties that can be expanded, with the conditions between them.
  var persisted: [(condition: String?, property: PropertyDeclaration?)] {
    members.compactMap { member in
      switch member {
      case .condition(let text): (text, nil)
      case .property(let property) where property.isPersisted && property.persistenceProblem == nil: (nil, property)
      default: nil
      }
    }
  }

  var hasInitializer: Bool {
    members.contains { member in
      if case .other(keyword: "init") = member { true } else { false }
    }
  }
}

extension PropertyDeclaration {
  /// Whether the property is an attribute or a relationship of the entity: stored, of each object, and not
  /// `@Transient`.
  var isPersisted: Bool {
    !head.isStatic && !head.attributes.contains("Transient")
      && bindings.contains { $0.accessors != .computed }
  }

  /// The `@Attribute` or `@Relationship` of the property; nil if it has neither.
  var annotation: DeclarationHead.Attribute? {
    head.attributeList.first { ["Attribute", "Relationship"].contains($0.name) }
  }

  /// Whether values go through a transformer.
  var isTransformable: Bool { annotation.map { $0.name == "Attribute" && $0.words.contains("transformable") } ?? false }

  var name: PropertyName { PropertyName(spelling: bindings.first?.name ?? "") }
}

/// The name of a property in generated code.
struct PropertyName {
  /// The name as written, which is used in key paths.
  let spelling: String

  /// The name without backticks.
  var bare: String { String(spelling.filter { $0 != "`" }) }

  /// The name as a string literal.
  var literal: String { String(reflecting: bare) }

  /// The property that is there instead of a stored one, so that the compiler knows which are initialised.
  var storage: String {
    let isIdentifier = bare.unicodeScalars.allSatisfy { $0 == "_" || $0 == "$" || $0.properties.isXIDContinue }
    return isIdentifier ? "_" + bare : "`_\(bare)`"
  }
}
