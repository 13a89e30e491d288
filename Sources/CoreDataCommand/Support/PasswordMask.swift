// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// Hides the passwords of URLs on the command line in everything that the tool writes, even if a URL is given in the
/// wrong place.
struct PasswordMask {
  /// The strings to replace in messages, with their replacements.
  private let replacements: [(text: String, by: String)]
  /// The strings to replace in results, which may contain a password by chance.
  private let ofURLs: [(text: String, by: String)]

  /// Whether a URL contains a password.
  var isNeeded: Bool { !ofURLs.isEmpty }

  init(_ arguments: [String]) {
    let found = arguments.flatMap(Self.passwords)
    ofURLs = found.flatMap { item in
      Self.forms(of: item.password).map { (item.before + $0 + item.after, item.before + "…" + item.after) }
    }
    // A short password could be a part of any word.
    replacements =
      ofURLs
      + found.flatMap { item in Self.forms(of: item.password).filter { $0.count >= 4 }.map { ($0, "…") } }
  }

  /// Returns a message without passwords.
  func masked(_ text: String) -> String { Self.replacing(replacements, in: text) }

  /// Returns a result without the passwords of URLs. Rows of a store that contain the text of a password are not
  /// changed.
  func maskedResult(_ text: String) -> String { Self.replacing(ofURLs, in: text) }

  private static func replacing(_ replacements: [(text: String, by: String)], in text: String) -> String {
    replacements.reduce(text) { $0.replacingOccurrences(of: $1.text, with: $1.by) }
  }

  /// Returns the forms in which a password may be written: as in the URL and decoded, each also for HTML and a shell.
  private static func forms(of password: String) -> [String] {
    let plain = [password, password.removingPercentEncoding ?? password]
    let escaped = plain.flatMap { text in
      [
        text,
        text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
          .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;"),
        text.replacingOccurrences(of: "'", with: "'\\''"),
      ]
    }
    // The longest is replaced first, because it may contain a shorter one.
    return Set(escaped).sorted { ($0.count, $0) > ($1.count, $1) }
  }

  /// Returns the passwords of a URL, as they are written, with what is written before and after them.
  private static func passwords(in argument: String) -> [(before: String, password: String, after: String)] {
    guard let mark = argument.range(of: "://") else { return [] }
    var found: [(String, String, String)] = []
    let rest = argument[mark.upperBound...]
    // The last @ is used, because a password may contain one.
    if let at = rest.lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
      found.append((":", String(rest[rest.index(after: colon)..<at]), "@"))
    }
    for item in rest.split(separator: "?").dropFirst().flatMap({ $0.split(separator: "&") }) {
      let parts = item.split(separator: "=", maxSplits: 1)
      let name = parts.first.map(String.init) ?? ""
      if parts.count == 2, (name.removingPercentEncoding ?? name).lowercased().hasSuffix("password") {
        found.append((name + "=", String(parts[1]), ""))
      }
    }
    return found.filter { !$0.1.isEmpty }
  }
}
