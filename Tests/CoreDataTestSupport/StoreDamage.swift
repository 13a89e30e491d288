// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage as disks and careless copying do it, put into the bytes of a store that nobody has open.
public enum StoreDamage {
  /// Has the list of free pages name a page that is in use: what is written next overwrites it. Pages have 4,096 bytes.
  public static func listAsFree(page: Int, of url: URL) throws {
    func number(_ value: Int) -> Data { Data([24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }) }
    var bytes = try Data(contentsOf: url)
    let trunk = bytes.count / 4096 + 1
    bytes += number(0) + number(1) + number(page) + Data(count: 4096 - 12)
    bytes.replaceSubrange(28..<40, with: number(trunk) + number(trunk) + number(2))
    try bytes.write(to: url)
  }

  /// Replaces a text that stands in the file once by another of the same length.
  public static func replace(_ old: String, with new: String, in url: URL) throws {
    var bytes = try Data(contentsOf: url)
    guard let range = bytes.range(of: Data(old.utf8)), old.utf8.count == new.utf8.count else {
      throw CocoaError(.fileReadCorruptFile)
    }
    bytes.replaceSubrange(range, with: Data(new.utf8))
    try bytes.write(to: url)
  }
}
