// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A store that was set aside because it was damaged or incompatible with the model, and that was replaced with a new
/// one. An addition to Apple's API.
///
/// It keeps its name and its external data, in a directory named after the date, within the directory `Incompatible`
/// beside the original location. Any tool can open it there. It is never removed automatically.
public struct SetAsideStore: Hashable, Sendable {
  /// The current location of the store.
  public let url: URL
  /// The date on which it was set aside.
  public let date: Date
  /// The code of the error because of which it was set aside; 0 if there was none.
  public let code: Int
  /// The reason for setting it aside, from that error.
  public let reason: String
}
