// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension PostgreSQLAddress {
  /// What a program of PostgreSQL needs to connect as libpq does here: an argument that everybody may see, and
  /// variables for its environment.
  package struct ProgramConnection: Sendable {
    /// A connection string without passwords.
    package let argument: String
    /// The variables with a password: that of the URL, or one that the user has typed.
    package let environment: [String: String]
  }

  /// Returns how programs connect, or nil if the URL has a secret that only an argument could tell them.
  package var programConnection: ProgramConnection? {
    var (items, environment): ([String], [String: String]) = ([], [:])
    for parameter in parameters {
      if parameter.keyword == "password" {
        environment["PGPASSWORD"] = parameter.value
      } else if Self.isSecret(parameter.keyword) {
        return nil
      } else {
        let escaped = parameter.value.replacingOccurrences(of: "\\", with: "\\\\")
          .replacingOccurrences(of: "'", with: "\\'")
        items.append("\(parameter.keyword)='\(escaped)'")
      }
    }
    // A program that does not stand at the terminal cannot ask for what the user has typed here.
    if environment["PGPASSWORD"] == nil { environment["PGPASSWORD"] = PasswordQuestion.typed(for: self) }
    return ProgramConnection(argument: items.joined(separator: " "), environment: environment)
  }

  /// Replaces passwords in the output of a program.
  package func maskedOutput(_ text: String) -> String { masked(text) }
}
