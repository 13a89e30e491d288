// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The texts of lists in predicates, folded for comparison, so that `IN[c]` need not compare a value with each of them.
///
/// A predicate is evaluated object by object, always with the same list: the last ones are kept.
enum FoldedTexts {
  private struct Entry {
    /// Retained, so that no other list gets its address, and not changed, since that would copy it.
    let list: [PlainValue]
    let options: ComparisonSyntax.Options
    let texts: Set<[UInt8]>

    func isOf(_ other: [PlainValue], _ options: ComparisonSyntax.Options) -> Bool {
      self.options == options && list.count == other.count
        && list.withUnsafeBufferPointer(\.baseAddress) == other.withUnsafeBufferPointer(\.baseAddress)
    }
  }

  private static let lock = NSLock()
  /// Guarded by `lock`.
  private nonisolated(unsafe) static var entries: [Entry] = []
  private static let greatestCount = 4
  /// Shorter lists are compared as fast.
  private static let leastLength = 8

  /// Whether a text equals one of a list.
  ///
  /// - Returns: nil for a short list, one with other values than texts, and a comparison that depends on the locale.
  static func contains(_ text: String, in list: [PlainValue], _ options: ComparisonSyntax.Options) -> Bool? {
    guard list.count >= leastLength, case .string = list[0], !options.contains(.localeSensitive) else { return nil }
    let comparison = TextComparison(options)
    func key(_ text: String) -> [UInt8] { Array(comparison.folded(text).utf8) }
    let known = lock.withLock { entries.first { $0.isOf(list, options) } }
    if let known { return known.texts.contains(key(text)) }
    var texts: Set<[UInt8]> = []
    for value in list {
      guard case .string(let text) = value else { return nil }
      texts.insert(key(text))
    }
    lock.withLock {
      if entries.count >= greatestCount { entries.removeFirst() }
      entries.append(Entry(list: list, options: options, texts: texts))
    }
    return texts.contains(key(text))
  }
}
