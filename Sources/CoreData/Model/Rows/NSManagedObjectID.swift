// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation
import Synchronization

/// The identifier of a managed object.
///
/// A new object has a temporary identifier. Saving, or `NSManagedObjectContext.obtainPermanentIDs(for:)`, replaces it
/// with a permanent one, which never changes.
open class NSManagedObjectID: NSObject, NSCopying, @unchecked Sendable {
  package final let key: ObjectKey
  /// The entity. Unlike `entity`, it is not dynamically dispatched, because it is used for every row.
  package final let entityDescription: NSEntityDescription
  /// The store's reference; nil for a temporary identifier.
  package final let store: StoreReference?

  /// Creates the identifier of a row.
  package init(entity: NSEntityDescription, key: ObjectKey, store: StoreReference) {
    entityDescription = entity
    self.key = key
    self.store = store
  }

  /// Creates a temporary identifier.
  fileprivate init(entity: NSEntityDescription, number: Int64) {
    entityDescription = entity
    key = ObjectKey(store: 0, root: 0, number: number)
    store = nil
  }

  /// The entity of the object.
  open var entity: NSEntityDescription { entityDescription }

  /// Whether the identifier is temporary.
  open var isTemporaryID: Bool { key.store == 0 }

  /// Returns a URI that identifies the object across launches: `x-coredata://STORE-UUID/Entity/p12`.
  open func uriRepresentation() -> URL {
    let name = entityDescription.name ?? ""
    let path = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? name
    // A store's metadata may contain any string as its UUID, whereas a host may contain only letters, digits and
    // hyphens.
    let host = (store?.identifier ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    guard let url = URL(string: "x-coredata://\(host)/\(path)/\(referenceText)") else {
      trap(
        "x-coredata://\(host)/\(path)/\(referenceText) is not a URI, although it contains only valid characters.")
    }
    return url
  }

  /// The last component of the URI, which names the object in its store.
  package var referenceText: String {
    isTemporaryID ? "t\(TemporaryNumbers.process)\(key.number)" : "p\(key.number)"
  }

  /// The permanent identifier that replaced this temporary one, or the identifier itself.
  package final var current: NSManagedObjectID {
    guard key.store == 0, let temporary = self as? TemporaryObjectID else { return self }
    return temporary.successor ?? self
  }

  /// Records the permanent identifier that replaces this temporary one. Contexts of one tree share the identifier.
  package final func becomes(_ permanent: NSManagedObjectID) { (self as? TemporaryObjectID)?.successor = permanent }

  /// Returns the identifier itself, which is immutable.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  // Hash tables hash the result once more.
  open override var hash: Int { Int(truncatingIfNeeded: key.mixed) }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let object else { return false }
    // Sets usually compare identifiers of one class.
    if let other = exactly(type(of: self), object) { return key == other.key }
    return (object as? NSManagedObjectID)?.key == key
  }

  open override var description: String {
    "0x\(String(UInt(bitPattern: ObjectIdentifier(self).hashValue), radix: 16)) <\(uriRepresentation().absoluteString)>"
  }
}

/// A value with an identifier: an object, or a row that represents one.
protocol ObjectIdentified: ComparedByIdentity {
  var objectID: NSManagedObjectID { get }
}

extension ObjectIdentified {
  var identity: NSObject { objectID.current }
}

extension NSManagedObjectID: ComparedByIdentity {
  var identity: NSObject { current }
}

/// The temporary identifier of a new object.
package final class TemporaryObjectID: NSManagedObjectID, @unchecked Sendable {
  private let permanent = Mutex<NSManagedObjectID?>(nil)

  package init(for entity: NSEntityDescription) { super.init(entity: entity, number: TemporaryNumbers.next()) }

  /// The permanent identifier that has replaced this one.
  package var successor: NSManagedObjectID? {
    get { permanent.withLock { $0 } }
    set { permanent.withLock { $0 = newValue } }
  }
}

/// Assigns numbers to new objects.
private enum TemporaryNumbers {
  private static let last = Atomic<Int64>(0)
  /// Distinguishes the temporary identifiers of different processes.
  static let process = UUID().uuidString + "-"

  static func next() -> Int64 { last.add(1, ordering: .relaxed).newValue }
}

/// The identity of an object as numbers, the key of sets and dictionaries inside the framework.
package struct ObjectKey: Hashable, Sendable {
  /// The store's number in this process; 0 for a new object.
  package let store: UInt32
  /// The root entity's number in its store; 0 for a new object.
  package let root: UInt32
  /// The primary key; for a new object, a number that is unique in the process.
  package let number: Int64

  /// The three numbers combined into one.
  package var mixed: Int64 { number ^ Int64(root) << 44 ^ Int64(store) << 54 }

  /// Hashes one number instead of three, because keys are looked up for every row and every object.
  package func hash(into hasher: inout Hasher) { hasher.combine(mixed) }
}

/// A weak reference to a store, shared by the identifiers of all its rows.
///
/// Identifiers are used on any thread, even while a store is being moved. `NSManagedObjectID.persistentStore` returns
/// the store with its type.
package final class StoreReference: Sendable {
  private let target: Mutex<WeakAddress<AnyObject>>
  /// The store's UUID.
  package let identifier: String?

  package init(_ store: AnyObject, identifier: String?) {
    target = Mutex(WeakAddress(store))
    self.identifier = identifier
  }

  /// The store; nil after it has been removed.
  package var store: AnyObject? { target.withLock { $0.object } }

  /// Redirects all identifiers to a copy of the store.
  package func move(to copy: AnyObject) { target.withLock { $0 = WeakAddress(copy) } }
}
