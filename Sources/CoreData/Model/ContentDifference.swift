// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// One place in which two values of the same type differ: for messages about documents that should be equal.
struct ContentDifference: Hashable {
  /// The names that lead to the place, such as `attributes`, `text`, `isOptional`.
  let path: [String]
  let first: String
  let second: String

  /// The difference as words.
  var words: String { "\(path.joined(separator: ".")) is \(first) in one, \(second) in the other" }

  /// All differences, down to single values. Elements of lists that have a name are found by it, in whatever order.
  static func between<Value: Hashable>(_ first: Value, _ second: Value) -> [ContentDifference] {
    between(first, second, at: [])
  }

  private static func between(_ first: Any, _ second: Any, at path: [String]) -> [ContentDifference] {
    let (left, right) = (parts(of: first), parts(of: second))
    guard let left, let right else {
      let texts = (text(first), text(second))
      return texts.0 == texts.1 ? [] : [ContentDifference(path: path, first: texts.0, second: texts.1)]
    }
    return Set(left.keys).union(right.keys).sorted().flatMap { name -> [ContentDifference] in
      let inner = path + [name]
      switch (left[name], right[name]) {
      case (let a?, let b?): return between(a, b, at: inner)
      case (.some, nil): return [ContentDifference(path: inner, first: "present", second: "absent")]
      default: return [ContentDifference(path: inner, first: "absent", second: "present")]
      }
    }
  }

  /// The properties of a structure, or the elements of a list whose elements all have names of their own.
  private static func parts(of value: Any) -> [String: Any]? {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .struct:
      let named = mirror.children.compactMap { child in child.label.map { ($0, child.value) } }
      return named.isEmpty ? nil : Dictionary(named) { first, _ in first }
    case .collection:
      let named = mirror.children.compactMap { child in name(of: child.value).map { ($0, child.value) } }
      let parts = Dictionary(named) { first, _ in first }
      return parts.count == mirror.children.count ? parts : nil
    default: return nil
    }
  }

  private static func name(of value: Any) -> String? {
    Mirror(reflecting: value).children.first { $0.label == "name" }?.value as? String
  }

  private static func text(_ value: Any) -> String {
    let mirror = Mirror(reflecting: value)
    if mirror.displayStyle == .optional { return mirror.children.first.map { text($0.value) } ?? "none" }
    if mirror.displayStyle == .dictionary {
      // The order of a dictionary changes from one to the next.
      let pairs = mirror.children.map { pair in Mirror(reflecting: pair.value).children.map { text($0.value) } }
      return "[" + pairs.map { $0.joined(separator: ": ") }.sorted().joined(separator: ", ") + "]"
    }
    return String(describing: value)
  }
}
