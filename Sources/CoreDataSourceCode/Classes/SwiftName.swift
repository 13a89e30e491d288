// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import SwiftSourceScanning

/// Names in generated code.
package enum SwiftName {
  /// Swift keywords, which cannot be names of declarations without backticks.
  private static let keywords: Set<String> = [
    "Any", "Self", "as", "associatedtype", "await", "break", "case", "catch", "class", "continue", "default", "defer",
    "deinit", "do", "else", "enum", "extension", "fallthrough", "false", "fileprivate", "for", "func", "guard", "if",
    "import", "in", "init", "inout", "internal", "is", "let", "nil", "operator", "precedencegroup", "private",
    "protocol",
    "public", "repeat", "rethrows", "return", "self", "static", "struct", "subscript", "super", "switch", "throw",
    "throws",
    "true", "try", "typealias", "var", "where", "while",
  ]

  /// Returns a name as written in a declaration, or nil if it is not an identifier.
  package static func declared(_ name: String) -> String? {
    guard isIdentifier(name) else { return nil }
    return keywords.contains(name) ? "`\(name)`" : name
  }

  /// Whether a property of this name can be declared in a subclass of `NSManagedObject`.
  package static func isFree(_ name: String) -> Bool { !ReservedNames.properties.contains(name) }

  /// Returns the name of a class without its module; nil if there is no name.
  package static func bare(_ className: String?) -> String? {
    guard let last = className?.split(separator: ".", omittingEmptySubsequences: false).last, !last.isEmpty else {
      return nil
    }
    return String(last)
  }

  private static func isIdentifier(_ name: String) -> Bool {
    guard let first = name.unicodeScalars.first, first == "_" || first.properties.isXIDStart else { return false }
    return name.unicodeScalars.dropFirst().allSatisfy { $0.properties.isXIDContinue }
  }

  /// Whether a string is the name of a type, possibly with arguments or brackets.
  static func isType(_ text: String) -> Bool {
    let marks = Set(".<>[]:, ?&".unicodeScalars)
    guard text.unicodeScalars.allSatisfy({ $0.properties.isXIDContinue || marks.contains($0) }) else { return false }
    let file = SourceFile(path: "", bytes: Array(text.utf8))
    return !file.words.isEmpty && file.afterType(0) == file.words.count
  }

  /// Returns a name as a string literal.
  static func literal(_ name: String) -> String { String(reflecting: name) }

  /// Returns a name on one line, for use in a comment.
  static func inComment(_ name: String) -> String { String(name.map { $0.isNewline ? " " : $0 }) }

  /// Returns a name with its first letter in upper case, such as `Orders` for `addToOrders(_:)`.
  package static func capitalized(_ name: String) -> String { name.prefix(1).uppercased() + name.dropFirst() }
}
