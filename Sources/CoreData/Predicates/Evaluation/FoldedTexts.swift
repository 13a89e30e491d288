// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// A cache of the strings of lists in predicates, folded for comparison, so that `IN[c]` need not compare a value with
/// each of them.
///
/// A predicate is evaluated object by object, always with the same list, so the most recently requested lists are kept.
/// A list is folded on its second request; on the first, its elements are compared one by one.
enum FoldedTexts {
  private struct Entry {
    /// Retained, so that no other list gets its address. Not changed, because that would copy it.
    let list: [PlainValue]
    let options: ComparisonSyntax.Options
    var texts: Texts

    func isOf(_ other: [PlainValue], _ options: ComparisonSyntax.Options) -> Bool {
      self.options == options && list.count == other.count
        && list.withUnsafeBufferPointer(\.baseAddress) == other.withUnsafeBufferPointer(\.baseAddress)
    }
  }

  private enum Texts {
    case notFolded
    case folded(Set<[UInt8]>)
    /// The list also contains other values.
    case none
  }

  private static let lock = NSLock()
  /// The entries, most recently requested last. Guarded by `lock`.
  private nonisolated(unsafe) static var entries: [Entry] = []
  private static let maxCount = 16
  /// The minimum length of a list. Shorter lists are compared as fast.
  private static let leastLength = 8

  /// Returns whether a string equals one of a list.
  ///
  /// - Returns: nil if the elements must be compared: for a short list, a list that contains other values, a list that
  ///   is requested for the first time, and a comparison that depends on the locale.
  static func contains(_ text: String, in list: [PlainValue], _ options: ComparisonSyntax.Options) -> Bool? {
    guard list.count >= leastLength, case .string = list[0], !options.contains(.localeSensitive) else { return nil }
    guard case .folded(let texts) = texts(of: list, options) else { return nil }
    return texts.contains(key(text, options))
  }

  private static func key(_ text: String, _ options: ComparisonSyntax.Options) -> [UInt8] {
    Array(TextComparison(options).folded(text).utf8)
  }

  private static func texts(of list: [PlainValue], _ options: ComparisonSyntax.Options) -> Texts {
    lock.withLock {
      guard let position = entries.lastIndex(where: { $0.isOf(list, options) }) else {
        if entries.count >= maxCount { entries.removeFirst() }
        entries.append(Entry(list: list, options: options, texts: .notFolded))
        return .notFolded
      }
      if case .notFolded = entries[position].texts { entries[position].texts = folded(list, options) }
      if position < entries.count - 1 { entries.append(entries.remove(at: position)) }
      return entries[entries.count - 1].texts
    }
  }

  private static func folded(_ list: [PlainValue], _ options: ComparisonSyntax.Options) -> Texts {
    var texts: Set<[UInt8]> = []
    for value in list {
      guard case .string(let text) = value else { return .none }
      texts.insert(key(text, options))
    }
    return .folded(texts)
  }
}
