// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A position in the persistent history of one or more stores: the number of each store's last transaction.
///
/// Tokens can be archived, with secure coding. A token remains valid until transactions after it are deleted.
open class NSPersistentHistoryToken: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
  private static let key = "NSPersistentHistoryTokenStoreTokens"

  /// Returns true, because tokens support secure coding.
  public class var supportsSecureCoding: Bool { true }

  /// The numbers of transactions, by the UUIDs of their stores.
  let numbers: [String: Int64]

  package init(_ numbers: [String: Int64]) {
    self.numbers = numbers
    super.init()
  }

  /// Reads a token from an archive; nil if the archive contains none.
  ///
  /// - Parameter coder: the coder to read from.
  public required init?(coder: NSCoder) {
    let classes = [NSDictionary.self, NSString.self, NSNumber.self]
    guard let found = coder.decodeObject(of: classes, forKey: Self.key) as? NSDictionary else { return nil }
    var numbers: [String: Int64] = [:]
    for (store, number) in found {
      guard let store = store as? String, let number = number as? NSNumber, number.int64Value >= 0 else { return nil }
      numbers[store] = number.int64Value
    }
    self.numbers = numbers
    super.init()
  }

  /// Archives the token.
  ///
  /// - Parameter coder: the coder to write to.
  open func encode(with coder: NSCoder) {
    let dictionary = NSMutableDictionary()
    for (store, number) in numbers { dictionary[NSString(string: store)] = NSNumber(value: number) }
    coder.encode(dictionary.copy() as? NSDictionary ?? dictionary, forKey: Self.key)
  }

  /// Returns the token itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override func isEqual(_ object: Any?) -> Bool { (object as? NSPersistentHistoryToken)?.numbers == numbers }

  open override var hash: Int { numbers.hashValue }

  open override var description: String {
    let list = numbers.sorted { $0.key < $1.key }.map { "\"\($0.key)\" = \($0.value);" }.joined(separator: " ")
    return "<NSPersistentHistoryToken - { \(list) }>"
  }
}
