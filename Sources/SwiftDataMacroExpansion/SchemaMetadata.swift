// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import SwiftSourceScanning

// `schemaMetadata`: a row for each persisted property, `#Unique` and `#Index`.
extension MacroExpansion {
  /// Adds the type property with the rows of a model, which any thread may read.
  mutating func addSchemaMetadata(of model: ModelClass) {
    let override = model.isSubclass ? "override " : ""
    add(
      """
      \(model.type.overridableStatic)nonisolated \(override)var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
        SwiftData._propertyRows(_$propertyRows)
      }

      """)
    // The key paths and initial values belong to the actor of the class.
    add("private static func _$propertyRows() -> [SwiftData.Schema.PropertyMetadata] {")
    let hasConditions = model.members.contains { member in
      if case .condition = member { true } else { false }
    }
    // Conditions cannot stand in an array's literal.
    add(hasConditions ? "  var rows: [SwiftData.Schema.PropertyMetadata] = []" : "  [")
    for member in model.members {
      let row: String
      switch member {
      case .condition(let text):
        add(text)
        continue
      case .property(let property) where property.isPersisted && property.persistenceProblem == nil:
        row = Self.row(of: property, in: model)
      case .expansion(let expansion) where ["Unique", "Index"].contains(expansion.name):
        row = Self.row(of: expansion, in: model)
      default: continue
      }
      add(hasConditions ? "  rows.append(\(row))" : "    \(row),")
    }
    add(hasConditions ? "  return rows\n}\n" : "  ]\n}\n")
  }

  private static func row(of property: PropertyDeclaration, in model: ModelClass) -> String {
    let metadata = property.annotation.map { annotation in
      "SwiftData.Schema.\(annotation.name)\(annotation.arguments.isEmpty ? "()" : annotation.arguments)"
    }
    let keyPath = "\\\(model.name).\(property.name.spelling)"
    return row(
      name: property.name.literal, keyPath: keyPath, defaultValue: property.defaultValue, metadata: metadata ?? "nil")
  }

  private static func row(of expansion: MacroExpansionDeclaration, in model: ModelClass) -> String {
    let generics = expansion.genericArguments.isEmpty ? "<\(model.name)>" : expansion.genericArguments
    return row(
      name: "\"#\(expansion.name)\"", keyPath: "\\\(model.name).self", defaultValue: "nil",
      metadata: "SwiftData.Schema.\(expansion.name)\(generics)\(expansion.arguments)")
  }

  private static func row(name: String, keyPath: String, defaultValue: String, metadata: String) -> String {
    "SwiftData.Schema.PropertyMetadata(name: \(name), keypath: \(keyPath), defaultValue: \(defaultValue), "
      + "metadata: \(metadata))"
  }
}

extension PropertyDeclaration {
  /// The initial value as an expression that needs no type from its context; `nil` if there is none.
  fileprivate var defaultValue: String {
    guard let binding = bindings.first, var value = binding.initialValue, value != "nil" else { return "nil" }
    // `if` and `switch` are values only where they are assigned or returned.
    if value.hasPrefix("if ") || value.hasPrefix("switch ") {
      value = binding.type.map { "{ () -> \($0) in \(value) }()" } ?? "{ \(value) }()"
    }
    // A number keeps the type of its literal, as in models that Apple's SwiftData makes: 0 for a Double is an integer.
    guard let type = binding.type, !Self.isNumber(value), !type.hasPrefix("some ") else { return value }
    return "(\(value)) as \(type.hasSuffix("!") ? type.dropLast() + "?" : type)"
  }

  private static func isNumber(_ text: String) -> Bool {
    let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
    guard let first = digits.first, first.isASCII, first.isNumber else { return false }
    // A number that may not fit an Int needs its type.
    return digits.count < 19 && digits.allSatisfy { $0.isHexDigit || "_.xob+-p".contains($0) }
  }
}
