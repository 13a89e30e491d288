// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Hides the passwords of URLs on the command line in everything that the tool writes, even if a URL is given in the
/// wrong place.
struct PasswordMask {
  /// The strings to replace, with their replacements.
  private let replacements: [(text: String, by: String)]

  init(_ arguments: [String]) {
    replacements = arguments.flatMap(Self.passwords).flatMap { password in
      // A short password could be a part of any word.
      [password, password.removingPercentEncoding ?? password].flatMap { text in
        text.count < 4 ? [(":\(text)@", ":…@"), ("=\(text)", "=…")] : [(text, "…")]
      }
    }
  }

  func masked(_ text: String) -> String {
    replacements.reduce(text) { $0.replacingOccurrences(of: $1.text, with: $1.by) }
  }

  /// Returns the passwords of a URL, as they are written.
  private static func passwords(in argument: String) -> [String] {
    guard let mark = argument.range(of: "://") else { return [] }
    var found: [Substring] = []
    let rest = argument[mark.upperBound...]
    // The last @ is used, because a password may contain one.
    if let at = rest.lastIndex(of: "@"), let colon = rest[..<at].firstIndex(of: ":") {
      found.append(rest[rest.index(after: colon)..<at])
    }
    for item in rest.split(separator: "?").dropFirst().flatMap({ $0.split(separator: "&") }) {
      let parts = item.split(separator: "=", maxSplits: 1)
      if parts.count == 2, parts[0].lowercased().hasSuffix("password") { found.append(parts[1]) }
    }
    return found.filter { !$0.isEmpty }.map(String.init)
  }
}
