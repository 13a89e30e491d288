// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Identifies threads faster than `Thread.current`.
enum ThreadIdentity {
  /// The identity of the current thread; never 0.
  static var current: UInt { withUnsafeBytes(of: pthread_self()) { $0.loadUnaligned(as: UInt.self) } }
}
