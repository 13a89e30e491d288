// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Where errors meet interfaces that cannot throw, because what is wrong is a mistake in the program.
enum Misuse {
  /// Carries out a body, and stops the program with the reason of an error.
  static func stop<Value>(_ body: () throws -> Value) -> Value {
    do {
      return try body()
    } catch {
      preconditionFailure((error as NSError).localizedFailureReason ?? "\(error)")
    }
  }
}
