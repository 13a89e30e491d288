// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store that was set aside because it was damaged or did not fit the model, and that a new one has replaced. An addition
/// to Apple's interface.
///
/// It is kept under its old name, with its external data, in a directory named after the date within the directory
/// `Incompatible` beside the store. Any tool can open it there. It is never removed automatically.
public struct SetAsideStore: Hashable, Sendable {
  /// Where the store is now.
  public let url: URL
  /// When it was set aside.
  public let date: Date
  /// The code of the error that was the reason; 0 where there was none.
  public let code: Int
  /// Why it was set aside, in the words of that error.
  public let reason: String
}
