// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CPostgreSQL
import CoreDataTracing
import Foundation

/// The name of a connection in the server's views and logs, which contains that of the context it works for.
struct ContextName {
  /// The greatest length of `application_name`, in bytes.
  private static let limit = 63

  /// The name without a context: the one in the URL or the environment, or that of the program.
  var base = ""
  /// The context named by the session; nil for none.
  var shown: String?

  /// The context that the current thread works for; nil for none, or for one without a name and an author.
  static var current: String? {
    guard let origin = StatementTracing.origin else { return nil }
    return origin.contextName ?? origin.author
  }

  /// Returns the value of `application_name` for a context, as a literal.
  func literal(_ context: String?) -> String {
    let text = context.map { base.isEmpty ? $0 : "\(base): \($0)" } ?? base
    // The server replaces other characters. A backslash begins an escape sequence in some of its settings.
    let characters = text.unicodeScalars.map { scalar -> Character in
      (0x20..<0x7F).contains(scalar.value) && scalar != "\\" ? Character(scalar) : "?"
    }
    return "'\(String(characters.prefix(Self.limit)).replacingOccurrences(of: "'", with: "''"))'"
  }
}

extension PostgreSQLConnection {
  /// The text that makes a transaction show the current context, to be sent together with its BEGIN; empty if the
  /// session shows it.
  var namingOfTransaction: String {
    let context = ContextName.current
    return context == name.shown ? "" : "; SET LOCAL application_name = \(name.literal(context))"
  }

  /// Whether the server's views show the current context for statements outside transactions.
  package var showsContext: Bool { ContextName.current == name.shown }

  /// Shows the current context in the server's views for statements outside transactions, which takes a round trip if
  /// the connection shows another one, and is not pooled.
  package func showContext() throws {
    let context = ContextName.current
    if context == name.shown { return }
    if isPooled {
      settings.applicationName = name.literal(context)
    } else {
      try execute("SET application_name = \(name.literal(context))")
    }
    name.shown = context
  }
}
