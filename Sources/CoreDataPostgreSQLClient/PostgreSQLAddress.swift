// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where a schema of a database is: `postgresql://user@host:port/database?schema=app&sslmode=verify-full`.
///
/// Everything but `schema` is libpq's: what is left out comes from the environment, service files and password files.
package struct PostgreSQLAddress: Hashable, Sendable {
  /// The schema; `public` if the URL names none.
  package let schema: String
  /// The URL for libpq, without the schema.
  let connection: String
  /// The password in the URL; nil for none.
  let password: String?
  /// The URL without the password, for texts.
  package let redacted: String

  /// Why a URL is none of a database.
  package struct Problem: Error, CustomStringConvertible {
    package let description: String
  }

  /// - Throws: `Problem`.
  package init(_ url: URL) throws {
    let scheme = url.scheme?.lowercased() ?? ""
    guard scheme == "postgresql" || scheme == "postgres" else {
      throw Problem(description: "The scheme of the URL is '\(scheme)', not 'postgresql'.")
    }
    // The parameters are read here as text, because a list of hosts is no host of a URL.
    let text = url.absoluteString
    let start = text.firstIndex(of: "?")
    let base = start.map { String(text[..<$0]) } ?? text
    let items = start.map { text[text.index(after: $0)...].split(separator: "&").map(String.init) } ?? []
    func name(_ item: String) -> String { String(item.prefix { $0 != "=" }).removingPercentEncoding ?? "" }
    func value(_ item: String) -> String {
      String(item.dropFirst(name(item).count + 1)).removingPercentEncoding ?? ""
    }
    let schemas = items.filter { name($0) == "schema" }.map(value)
    guard schemas.count < 2, schemas.first != "" else {
      throw Problem(description: "The URL must name one schema, as in '?schema=app'.")
    }
    schema = schemas.first ?? "public"
    guard schema.utf8.count < 64, !schema.utf8.contains(0) else {
      throw Problem(description: "The name of the schema is longer than PostgreSQL's names can be, 63 bytes.")
    }
    let rest = items.filter { name($0) != "schema" }
    connection = base + (rest.isEmpty ? "" : "?" + rest.joined(separator: "&"))
    let authority = base.dropFirst(scheme.count + 3).prefix { $0 != "/" }
    var visible = base
    var found: String?
    if let at = authority.lastIndex(of: "@"), let colon = authority[..<at].firstIndex(of: ":") {
      found = String(authority[authority.index(after: colon)..<at]).removingPercentEncoding
      visible = base.replacingOccurrences(of: String(authority[colon..<at]) + "@", with: "@")
    }
    for item in rest where name(item).hasSuffix("password") { found = value(item) }
    password = found.flatMap { $0.isEmpty ? nil : $0 }
    let kept = items.filter { !name($0).hasSuffix("password") }
    redacted = visible + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
  }

  /// Replaces the password in a text.
  func masked(_ text: String) -> String {
    guard let password else { return text }
    return text.replacingOccurrences(of: password, with: "********")
  }
}
