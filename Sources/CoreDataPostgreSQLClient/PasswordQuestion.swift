// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// The way in which a program asks its user for passwords that a server requires, and that neither the URL, the
/// environment, a service file nor a password file contains.
package enum PasswordQuestion {
  private struct State {
    var ask: (@Sendable (String) -> String?)?
    var answers: [PostgreSQLAddress: String] = [:]
  }

  private static let state = Mutex(State())

  /// Sets the function that asks.
  ///
  /// - Parameter ask: Receives the URL without passwords. Returns nil if there is nobody to answer.
  package static func answer(by ask: (@Sendable (String) -> String?)?) {
    state.withLock { $0 = State(ask: ask) }
  }

  /// Returns the password for an address, asking once in the lifetime of the process.
  static func password(for address: PostgreSQLAddress) -> String? {
    // Other threads wait for the answer.
    state.withLock { state in
      if let known = state.answers[address] { return known }
      let answer = state.ask?(address.redacted)
      state.answers[address] = answer
      return answer
    }
  }

  /// Returns the password that was typed for an address, without asking.
  static func typed(for address: PostgreSQLAddress) -> String? { state.withLock { $0.answers[address] } }

  /// Discards an answer that the server has not accepted.
  static func forget(_ address: PostgreSQLAddress) { state.withLock { $0.answers[address] = nil } }
}
