// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// The texts of lists in predicates, folded for comparison, so that `IN[c]` need not compare a value with each of them.
///
/// A predicate is evaluated object by object, always with the same list: the lists that were last asked for are kept. A list is
/// folded when it is asked for again; until then its elements are compared one by one.
enum FoldedTexts {
  private struct Entry {
    /// Retained, so that no other list gets its address, and not changed, since that would copy it.
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
    /// The list has other values, too.
    case none
  }

  private static let lock = NSLock()
  /// Guarded by `lock`. The list that was asked for last is the last one.
  private nonisolated(unsafe) static var entries: [Entry] = []
  private static let greatestCount = 16
  /// Shorter lists are compared as fast.
  private static let leastLength = 8

  /// Whether a text equals one of a list.
  ///
  /// - Returns: nil where the elements must be compared: for a short list, one with other values than texts, one that is asked for
  ///   for the first time, and a comparison that depends on the locale.
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
        if entries.count >= greatestCount { entries.removeFirst() }
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
