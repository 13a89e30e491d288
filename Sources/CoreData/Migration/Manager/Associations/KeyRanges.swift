// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Arithmetic with ranges of primary keys, which in a file can be any integers.
enum KeyRanges {
  /// How far the first and the last key are apart.
  static func distance(_ keys: ClosedRange<Int64>) -> UInt64 {
    UInt64(bitPattern: keys.upperBound &- keys.lowerBound)
  }

  /// Whether rows lie so close together that reading the whole range is faster than reading them one by one.
  static func isDense(_ keys: ClosedRange<Int64>, count: Int) -> Bool {
    distance(keys) < UInt64(count) * 8
  }
}
