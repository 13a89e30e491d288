// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The identifiers of a store whose subclass identifies objects by its own values, such as strings.
package final class ReferenceObjects {
  private struct Key: Hashable {
    let root: UInt32
    let reference: AnyHashable
  }

  private unowned let store: NSPersistentStore
  private var roots: [String: UInt32] = [:]
  /// The numbers of the first references of a hierarchy by their text forms, and how many of these there are.
  private var texts: [UInt32: (numbers: [String: Int64], count: Int)] = [:]
  private var numbers: [Key: Int64] = [:]
  private var references: [UInt32: [Any]] = [:]

  package init(_ store: NSPersistentStore) {
    self.store = store
  }

  /// Returns the identifier of an object; always the same for equal references in one entity hierarchy.
  package func id(_ entity: NSEntityDescription, _ reference: Any) -> NSManagedObjectID {
    let root = root(of: entity)
    let key = Key(root: root, reference: Self.key(reference))
    let number: Int64
    if let known = numbers[key] {
      number = known
    } else {
      references[root, default: []].append(reference)
      number = Int64(references[root]?.count ?? 1)
      numbers[key] = number
    }
    return ReferenceObjectID(
      entity: entity, key: ObjectKey(store: store.number, root: root, number: number), store: store.reference,
      reference: reference)
  }

  /// Returns the reference of an identifier of the store.
  package func reference(of id: NSManagedObjectID) -> Any? {
    guard id.key.store == store.number, let all = references[id.key.root], all.indices.contains(Int(id.key.number) - 1)
    else { return nil }
    return all[Int(id.key.number) - 1]
  }

  /// Returns the identifier for the last part of a URI. An unknown reference is taken for an integer or a string.
  package func id(_ entity: NSEntityDescription, text: String) -> NSManagedObjectID? {
    guard text.hasPrefix("p"), let decoded = text.dropFirst().removingPercentEncoding, !decoded.isEmpty else {
      return nil
    }
    let root = root(of: entity)
    let all = references[root] ?? []
    var known = texts[root] ?? ([:], 0)
    for position in known.count..<all.count {
      known.numbers[ReferenceObjectID.text(of: all[position])] = Int64(position + 1)
    }
    known.count = all.count
    texts[root] = known
    if let number = known.numbers[text] { return id(entity, all[Int(number) - 1]) }
    return id(entity, Int64(decoded).map { NSNumber(value: $0) } ?? decoded)
  }

  private func root(of entity: NSEntityDescription) -> UInt32 {
    if roots.isEmpty { roots = RowTables.roots(of: entity.managedObjectModel) }
    var top = entity
    while let parent = top.superentity { top = parent }
    guard let root = roots[top.name ?? ""] else {
      trap("The entity '\(entity.name ?? "")' is not in the store's model.")
    }
    return root
  }

  /// Returns a reference as a key. A number or string equals its counterpart of Foundation's class.
  private static func key(_ reference: Any) -> AnyHashable {
    switch reference {
    case let text as String: return text
    case let number as NSNumber: return number
    case let number as any BinaryInteger: return NSNumber(value: Int64(truncatingIfNeeded: number))
    case let id as UUID: return id
    case let value as AnyHashable: return value
    case let value as NSObject: return value
    default:
      trap(
        "A \(type(of: reference)) cannot be a reference object: use a string, a number or another hashable value.")
    }
  }
}

/// The identifier of an object of a store whose subclass identifies objects by its own values.
package final class ReferenceObjectID: NSManagedObjectID, @unchecked Sendable {
  private let reference: Any

  package init(entity: NSEntityDescription, key: ObjectKey, store: StoreReference, reference: Any) {
    self.reference = reference
    super.init(entity: entity, key: key, store: store)
  }

  /// Returns the last part of the URI. Characters that are invalid there are escaped, and once more in the URI itself.
  package static func text(of reference: Any) -> String {
    let text: String
    switch reference {
    case let string as String: text = string
    case let date as Date: text = "\(date.timeIntervalSinceReferenceDate)"
    case let data as Data: text = data.base64EncodedString()
    default: text = "\(reference)"
    }
    let allowed = CharacterSet(charactersIn: "-._~").union(.alphanumerics)
    return "p" + (text.addingPercentEncoding(withAllowedCharacters: allowed) ?? text)
  }

  package override var referenceText: String { Self.text(of: reference) }

  package override func uriRepresentation() -> URL {
    let base = super.uriRepresentation()
    return base.deletingLastPathComponent().appendingPathComponent(referenceText)
  }
}
