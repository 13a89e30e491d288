// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

@testable import SwiftDataMacroExpansion

/// Expands macros as the compiler would ask for it.
enum Expanding {
  static func request(
    _ macro: String, role: String?, _ declaration: String, around: [String] = [], conformances: String? = nil,
    extended: String? = nil, offset: Int = 0
  ) -> ExpansionRequest {
    let location = SourceSyntax.Location(fileName: "Models.swift", offset: offset)
    return ExpansionRequest(
      macro: .init(typeName: macro, name: macro), macroRole: role,
      syntax: SourceSyntax(source: declaration, location: location),
      declSyntax: SourceSyntax(source: declaration, location: location),
      extendedTypeSyntax: extended.map { SourceSyntax(source: $0) },
      conformanceListSyntax: conformances.map { SourceSyntax(source: $0) },
      lexicalContext: around.map { SourceSyntax(source: $0) })
  }

  /// The protocols that the compiler lists for a class that conforms to none of them.
  static let missing = "struct Placeholder: PersistentModel, Observable {}"

  /// Returns the members that `@Model` adds to a class.
  static func members(
    _ source: String, around: [String] = [], conformances: String? = missing, offset: Int = 0
  ) -> MacroExpansion {
    MacroExpansion.expand(
      request("ModelMacro", role: "member", source, around: around, conformances: conformances, offset: offset))
  }

  /// Returns the members that `@Model` adds to a class with some properties and an initializer.
  static func members(of properties: String) -> MacroExpansion {
    members("@Model final class Trip {\n\(properties)\ninit() {}\n}")
  }

  /// Returns the rows of `schemaMetadata` for some properties, without what is the same in each.
  static func rows(_ properties: String) -> [String] {
    members(of: properties).source.split(separator: "\n").compactMap { line in
      guard let start = line.firstRange(of: "PropertyMetadata(") else { return nil }
      var row = line[start.upperBound...]
      while let last = row.last, ",)".contains(last) {
        row = row.dropLast()
        if last == ")" { break }
      }
      return String(row)
    }
  }

  /// Returns what `@Model` puts on a member.
  static func attribute(_ member: String, around: String = "@Model class Trip {}") -> String {
    MacroExpansion.expand(request("ModelMacro", role: "memberAttribute", member, around: [around])).source
  }

  static func accessors(_ property: String) -> String {
    MacroExpansion.expand(
      request("PersistedPropertyMacro", role: "accessor", property, around: ["@Model class Trip {}"])
    ).source
  }

  /// Returns the errors and warnings for the members of a model, each with the source that it points to.
  static func problems(_ properties: String) -> [String] {
    let source = "@Model final class Trip {\n\(properties)\ninit() {}\n}"
    return members(source, offset: 1000).diagnostics.map { diagnostic in
      let place = Array(source.utf8).dropFirst(diagnostic.position.offset - 1000).prefix { $0 >= UInt8(ascii: "A") }
      return "\(diagnostic.severity) at \(String(decoding: place, as: UTF8.self)): \(diagnostic.message)"
    }
  }
}

extension ExpansionRequest {
  init(
    macro: Macro, macroRole: String?, syntax: SourceSyntax?, declSyntax: SourceSyntax?,
    extendedTypeSyntax: SourceSyntax?, conformanceListSyntax: SourceSyntax?, lexicalContext: [SourceSyntax]?
  ) {
    self.init(
      macro: macro, macroRole: macroRole, syntax: syntax, attributeSyntax: nil, declSyntax: declSyntax,
      extendedTypeSyntax: extendedTypeSyntax, conformanceListSyntax: conformanceListSyntax,
      lexicalContext: lexicalContext)
  }
}
