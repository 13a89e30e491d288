// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

/// A compact, universal identifier of a managed object.
///
/// An object that has not been saved has a temporary identifier; saving, or
/// `NSManagedObjectContext.obtainPermanentIDs(for:)`, gives it a permanent one, which stays the same for the store's life.
open class NSManagedObjectID: NSObject, NSCopying, NSFetchRequestResult, @unchecked Sendable {
  final let key: ObjectKey
  /// The entity, for those who ask for every row.
  final let entityDescription: NSEntityDescription
  /// The store's reference; nil for a temporary identifier.
  final let store: StoreReference?
  private let successor = Mutex<NSManagedObjectID?>(nil)

  /// The identifier of a row.
  init(entity: NSEntityDescription, key: ObjectKey, store: StoreReference) {
    entityDescription = entity
    self.key = key
    self.store = store
  }

  /// A temporary identifier.
  init(temporaryFor entity: NSEntityDescription) {
    entityDescription = entity
    key = ObjectKey(store: 0, root: 0, number: TemporaryNumbers.next())
    store = nil
  }

  /// The entity of the object.
  open var entity: NSEntityDescription { entityDescription }

  /// Whether the object has no place in a store yet.
  open var isTemporaryID: Bool { key.store == 0 }

  /// A URI that names the object across launches: `x-coredata://STORE-UUID/Entity/p12`.
  open func uriRepresentation() -> URL {
    let name = entityDescription.name ?? ""
    let reference = isTemporaryID ? "t\(TemporaryNumbers.process)\(key.number)" : "p\(key.number)"
    let path = name.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? name
    // Any text can stand as UUID in a store's metadata; only letters, digits and hyphens can as a host.
    let host = (store?.identifier ?? "").filter { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "-") }
    guard let url = URL(string: "x-coredata://\(host)/\(path)/\(reference)") else {
      preconditionFailure(
        "x-coredata://\(host)/\(path)/\(reference) is no URI, though it holds nothing but URI characters.")
    }
    return url
  }

  /// The identifier that has taken this one's place, or this one: temporary identifiers outlive the save that replaces them.
  var current: NSManagedObjectID {
    guard key.store == 0 else { return self }
    return successor.withLock { $0 } ?? self
  }

  /// Notes the permanent identifier that a save has given to this temporary one.
  func becomes(_ permanent: NSManagedObjectID) {
    successor.withLock { $0 = permanent }
  }

  /// Identifiers are immutable, so a copy is the identifier itself.
  open func copy(with zone: NSZone? = nil) -> Any { self }

  open override var hash: Int { key.hashValue }

  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSManagedObjectID else { return false }
    return key == other.key
  }

  open override var description: String {
    "0x\(String(UInt(bitPattern: ObjectIdentifier(self).hashValue), radix: 16)) <\(uriRepresentation().absoluteString)>"
  }
}

/// Counts the objects that no store has seen yet.
private enum TemporaryNumbers {
  private static let last = Atomic<Int64>(0)
  /// Tells the temporary objects of different processes apart.
  static let process = UUID().uuidString + "-"

  static func next() -> Int64 {
    last.add(1, ordering: .relaxed).newValue
  }
}
