// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

extension NSPersistentStoreCoordinator {
  /// The store classes by type, each as an `NSValue` that contains the class's address.
  public class var registeredStoreTypes: [String: NSValue] {
    StoreKinds.all.mapValues { kind in
      // Foundation on Linux lacks `NSValue`s with pointers.
      var address = UInt64(UInt(bitPattern: unsafeBitCast(kind as AnyClass, to: UnsafeRawPointer.self)))
      return NSValue(bytes: &address, objCType: "Q")
    }
  }

  /// Registers the class of a store type, so that stores of that type can be added.
  ///
  /// - Parameters:
  ///   - storeClass: a subclass of `NSAtomicStore` or `NSIncrementalStore`; any other class traps. Nil removes the
  ///     registered class, or restores the framework's own.
  ///   - storeType: the store type.
  public class func registerStoreClass(_ storeClass: AnyClass?, forStoreType storeType: String) {
    guard let storeClass else { return StoreKinds.register(nil, for: storeType) }
    guard let kind = storeClass as? NSPersistentStore.Type,
      kind is NSAtomicStore.Type || kind is NSIncrementalStore.Type
    else {
      trap(
        "\(storeClass) cannot be the class of stores of type '\(storeType)': it must be a subclass of NSAtomicStore or "
          + "NSIncrementalStore.")
    }
    StoreKinds.register(kind, for: storeType)
  }

  /// Registers the class of a store type, as `registerStoreClass(_:forStoreType:)`.
  ///
  /// - Parameters:
  ///   - storeClass: a subclass of `NSAtomicStore` or `NSIncrementalStore`, or nil.
  ///   - type: the store type.
  public class func registerStoreClass(_ storeClass: AnyClass?, type: NSPersistentStore.StoreType) {
    registerStoreClass(storeClass, forStoreType: type.rawValue)
  }
}
