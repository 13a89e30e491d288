// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a fetch request can return: managed objects, their identifiers, dictionaries and numbers.
public protocol NSFetchRequestResult: NSObjectProtocol {}

extension NSDictionary: NSFetchRequestResult {}
extension NSNumber: NSFetchRequestResult {}

/// The form in which a fetch request returns what it finds.
public struct NSFetchRequestResultType: OptionSet, Hashable, Sendable {
  /// The type's number.
  public let rawValue: UInt

  /// Makes a result type of its number.
  public init(rawValue: UInt) {
    self.rawValue = rawValue
  }

  /// Managed objects.
  public static let managedObjectResultType: NSFetchRequestResultType = []
  /// Identifiers of managed objects.
  public static let managedObjectIDResultType = NSFetchRequestResultType(rawValue: 1)
  /// Dictionaries with the properties asked for.
  public static let dictionaryResultType = NSFetchRequestResultType(rawValue: 2)
  /// One number: how many objects there are.
  public static let countResultType = NSFetchRequestResultType(rawValue: 4)
}
