// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates

/// How the texts of predicates and expressions in a model source become trees.
package struct SourceParsers: Sendable {
  package var predicate: @Sendable (String) throws -> PredicateSyntax
  package var expression: @Sendable (String) throws -> ExpressionSyntax

  /// Makes a pair of parsers.
  package init(
    predicate: @escaping @Sendable (String) throws -> PredicateSyntax,
    expression: @escaping @Sendable (String) throws -> ExpressionSyntax
  ) {
    self.predicate = predicate
    self.expression = expression
  }
}

extension SourceParsers {
  /// Reads what derivations hold: key paths and functions of key paths. Predicates need a parser of their own.
  package static let standard = SourceParsers(
    predicate: { text in throw UnreadableText(text: text) },
    expression: { text in
      var reader = DerivationReader(text)
      return try reader.whole()
    })
}

/// A text that no parser at hand understands.
private struct UnreadableText: Error, CustomStringConvertible {
  let text: String
  var description: String { "there is no parser for it" }
}

/// Reads `name`, `messages.@count`, `canonical:(name)`, `now()` and such.
private struct DerivationReader {
  private let text: String
  private var rest: Substring

  init(_ text: String) {
    self.text = text
    rest = Substring(text)
  }

  mutating func whole() throws -> ExpressionSyntax {
    let result = try expression(depth: 0)
    guard rest.isEmpty else { throw UnreadableText(text: text) }
    return result
  }

  private mutating func expression(depth: Int) throws -> ExpressionSyntax {
    guard depth < 32 else { throw UnreadableText(text: text) }
    skipSpaces()
    let name = String(rest.prefix { $0.isLetter || $0.isNumber || "_.@:".contains($0) })
    guard !name.isEmpty else { throw UnreadableText(text: text) }
    rest = rest.dropFirst(name.count)
    skipSpaces()
    guard rest.first == "(" else {
      return name == "SELF" ? .evaluatedObject : .keyPath(name)
    }
    rest.removeFirst()
    var arguments: [ExpressionSyntax] = []
    skipSpaces()
    while rest.first != ")" {
      arguments.append(try expression(depth: depth + 1))
      skipSpaces()
      if rest.first == "," {
        rest.removeFirst()
      } else if rest.first != ")" {
        throw UnreadableText(text: text)
      }
    }
    rest.removeFirst()
    skipSpaces()
    return .function(operand: nil, name: name, arguments: arguments)
  }

  private mutating func skipSpaces() {
    rest = rest.drop(while: \.isWhitespace)
  }
}
