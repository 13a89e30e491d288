// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if !canImport(UIKit) && !canImport(AppKit)
/// The two parts of an index path into sections, which Foundation provides only with a user interface framework.
extension IndexPath {
  /// Creates an index path to an item of a section.
  public init(item: Int, section: Int) {
    self = [section, item]
  }

  /// Creates an index path to a row of a section.
  public init(row: Int, section: Int) {
    self = [section, row]
  }

  /// The index of the section.
  public var section: Int {
    get { self[0] }
    set { self[0] = newValue }
  }

  /// The index of the item in its section.
  public var item: Int {
    get { self[1] }
    set { self[1] = newValue }
  }

  /// The index of the row in its section.
  public var row: Int {
    get { item }
    set { item = newValue }
  }
}
#endif
