// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The location of a schema: `postgresql://user:password@host:port/database?schema=app&sslmode=verify-full`.
///
/// All parameters except `schema` and `error_values` are passed to libpq, which takes omitted ones from the environment, service files and
/// password files. Descriptions contain no passwords.
package struct PostgreSQLAddress: Hashable, Sendable {
  /// The maximum length of a name in PostgreSQL, in bytes.
  package static let nameLimit = 63
  package static let schemes: Set<String> = ["postgresql", "postgres"]

  /// The schema; `public` if the URL does not name one.
  package private(set) var schema = "public"
  /// Whether errors contain the values of rows that the server's messages contain.
  package private(set) var showsValues = false
  /// The URL without passwords, for display.
  package private(set) var redacted: String
  /// The libpq parameters in the order of the URL. The last one with a given keyword takes effect.
  private(set) var parameters: [Parameter] = []
  private var secrets = Secrets()

  struct Parameter: Hashable, Sendable {
    let keyword: String
    let value: String
  }

  /// The reason why a text is not the URL of a database. The description contains no part of a password.
  package struct Problem: Error, Hashable, CustomStringConvertible {
    package let description: String
  }

  /// Parses a URL.
  ///
  /// - Throws: `Problem`.
  package init(_ url: URL) throws { try self.init(url.absoluteString) }

  /// Parses a URL given as text, which may name several hosts with ports (`host1:5432,host2:5433`), unlike a `URL`.
  ///
  /// - Throws: `Problem`.
  package init(_ text: String) throws {
    redacted = Self.cautiouslyRedacted(text)
    guard let start = text.range(of: "://") else { throw problem("it is not a URL") }
    let scheme = text[..<start.lowerBound]
    guard Self.schemes.contains(scheme.lowercased()) else {
      throw problem("its scheme is '\(scheme)', not 'postgresql'")
    }
    // Foundation cannot parse a URL with a list of hosts.
    let parts = text[start.upperBound...].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    let place = parts[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
    var hosts = place[0]
    var login: Substring?
    // Use the last @, because a password may contain one.
    if let at = hosts.lastIndex(of: "@") {
      login = hosts[..<at]
      hosts = hosts[hosts.index(after: at)...]
    }
    let names = login?.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false) ?? []
    if let user = names.first { try add("user", user) }
    if names.count > 1 { try add("password", names[1]) }
    try add(hosts: hosts)
    if place.count > 1 { try add("dbname", place[1]) }
    var shown: [Substring] = []
    for item in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      if try add(item: item) { shown.append(item) }
    }
    redacted = "\(scheme)://" + (names.first.map { "\($0)@" } ?? "") + hosts + (place.count > 1 ? "/\(place[1])" : "")
    if !shown.isEmpty { redacted += "?" + shown.joined(separator: "&") }
  }

  /// Replaces passwords in a message.
  func masked(_ text: String) -> String { secrets.masked(text) }

  /// Masks another password, such as one from a password file, in messages.
  mutating func hide(_ password: String) { secrets.insert(password) }

  /// Returns the address with a limit on the seconds for connecting, unless the URL or the environment has one.
  package func limitingConnectionTime(to seconds: Int) -> PostgreSQLAddress {
    let isGiven = parameters.contains { $0.keyword == "connect_timeout" }
    if isGiven || ProcessInfo.processInfo.environment["PGCONNECT_TIMEOUT"] != nil { return self }
    var address = self
    address.set("connect_timeout", String(seconds))
    return address
  }

  private mutating func add(_ keyword: String, _ encoded: Substring) throws {
    let value = try decoded(encoded)
    if !value.isEmpty { set(keyword, value) }
  }

  private mutating func set(_ keyword: String, _ value: String) {
    if Self.isSecret(keyword) { secrets.insert(value) }
    parameters.append(Parameter(keyword: keyword, value: value))
  }

  /// Adds a comma-separated list of `host`, `host:port` and `[address]:port`.
  private mutating func add(hosts: Substring) throws {
    var (names, ports): ([String], [String]) = ([], [])
    for item in hosts.split(separator: ",", omittingEmptySubsequences: false) {
      var (name, port) = (item, item.suffix(0))
      if item.hasPrefix("["), let end = item.lastIndex(of: "]") {
        name = item[..<end].dropFirst()
        let rest = item[item.index(after: end)...]
        guard rest.isEmpty || rest.hasPrefix(":") else { throw problem("no port follows the address in brackets") }
        port = rest.dropFirst()
      } else if let colon = item.lastIndex(of: ":") {
        (name, port) = (item[..<colon], item[item.index(after: colon)...])
      }
      guard port.isEmpty || (Int(port).map { (1...65_535).contains($0) } ?? false) else {
        throw problem("a port is not a number from 1 to 65535. In a password, write / as %2F and ? as %3F")
      }
      names.append(try decoded(name))
      ports.append(String(port))
    }
    if names.contains(where: { !$0.isEmpty }) { set("host", names.joined(separator: ",")) }
    if ports.contains(where: { !$0.isEmpty }) { set("port", ports.joined(separator: ",")) }
  }

  /// Adds a parameter of the form `name=value`.
  ///
  /// - Returns: Whether messages may show the parameter.
  private mutating func add(item: Substring) throws -> Bool {
    let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let keyword = try decoded(parts[0])
    guard parts.count == 2, !keyword.isEmpty else { throw problem("a parameter is not of the form 'name=value'") }
    let value = try decoded(parts[1])
    switch keyword {
    case "schema":
      guard !value.isEmpty else { throw problem("it must name a schema, as in '?schema=app'") }
      guard value.utf8.count <= Self.nameLimit else {
        throw problem("the name of the schema is longer than PostgreSQL's names can be, \(Self.nameLimit) bytes")
      }
      schema = value
    case "error_values":
      guard ["show", "hide"].contains(value) else { throw problem("'error_values' must be 'show' or 'hide'") }
      showsValues = value == "show"
    // libpq accepts this alias in URLs only.
    case "ssl" where value == "true": set("sslmode", "require")
    default: set(keyword, value)
    }
    return !Self.isSecret(keyword)
  }

  private func decoded(_ text: Substring) throws -> String {
    guard let decoded = text.removingPercentEncoding, !decoded.contains("\0") else {
      throw problem("a % in it does not begin a character. Write % as %25")
    }
    return decoded
  }

  private func problem(_ reason: String) -> Problem {
    Problem(description: "The URL '\(redacted)' does not name a database: \(reason).")
  }

  static func isSecret(_ keyword: String) -> Bool { keyword.lowercased().hasSuffix("password") }

  /// Returns the text without anything that could be a password, also if it is not a valid URL.
  private static func cautiouslyRedacted(_ text: String) -> String {
    var text = text
    let start = text.range(of: "://")?.upperBound ?? text.startIndex
    if let at = text[start...].lastIndex(of: "@") {
      if let colon = text[start..<at].firstIndex(of: ":") { text.replaceSubrange(colon..<at, with: ":***") }
    }
    guard let mark = text.firstIndex(of: "?") else { return text }
    let items = text[text.index(after: mark)...].split(separator: "&").filter { item in
      !isSecret(String(item.prefix { $0 != "=" }).removingPercentEncoding ?? "password")
    }
    return text[..<mark] + (items.isEmpty ? "" : "?" + items.joined(separator: "&"))
  }
}

extension PostgreSQLAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  package var description: String { redacted }
  package var debugDescription: String { redacted }
  /// A mirror without the parameters, which contain the password.
  package var customMirror: Mirror { Mirror(self, children: ["redacted": redacted, "schema": schema]) }
}

/// Texts that must not appear in messages.
struct Secrets: Hashable, Sendable {
  private static let mask = "***"
  /// The length in UTF-8 bytes below which a secret is masked only where it is a whole word. Masking every "a" would
  /// reveal the secret.
  private static let shortest = 6

  private var texts: [String] = []

  mutating func insert(_ text: String) {
    let encoded = text.addingPercentEncoding(withAllowedCharacters: .alphanumerics)
    for text in [text, encoded ?? text] where !text.isEmpty && !texts.contains(text) { texts.append(text) }
    // Mask the longest first, because it may contain a shorter one.
    texts.sort { $0.utf8.count > $1.utf8.count }
  }

  func masked(_ message: String) -> String { texts.reduce(message) { Self.masked($0, $1) } }

  private static func masked(_ message: String, _ secret: String) -> String {
    if secret.utf8.count >= shortest { return message.replacingOccurrences(of: secret, with: mask) }
    func isWord(_ character: Character?) -> Bool { character.map { $0.isLetter || $0.isNumber } ?? false }
    var (result, rest) = ("", message[...])
    while let range = rest.range(of: secret) {
      let before = rest[..<range.lowerBound]
      let isPart = isWord(before.last ?? result.last) || isWord(rest[range.upperBound...].first)
      result += before + (isPart ? secret : mask)
      rest = rest[range.upperBound...]
    }
    return result + rest
  }
}
