// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes

/// Determines which methods the class of a policy overrides.
///
/// Swift offers no API for that. But a class has the addresses of its methods in its metadata, at the same offsets as
/// its superclass. The offset of a method is where a class that overrides only that method differs from its superclass.
/// A class with the superclass's address at that offset does not override the method.
enum PolicyMethods {
  /// Returns whether a class overrides `createRelationships(forDestination:in:manager:)`; true if that is unknown.
  static func overridesRelationships(_ type: NSEntityMigrationPolicy.Type) -> Bool {
    if type == NSEntityMigrationPolicy.self { return false }
    guard let relationships else { return true }
    return word(relationships, of: type) != word(relationships, of: NSEntityMigrationPolicy.self)
  }

  /// The offset of `createRelationships(forDestination:in:manager:)`; nil if it is unknown.
  private static let relationships = place(of: RelationshipPolicy.self, besides: PlainPolicy.self)

  /// The beginning of a class's metadata, before its methods (`TargetClassMetadata` in swift/ABI/Metadata.h).
  private struct ClassMetadata {
    let kind: Int
    let superclass: UnsafeRawPointer?
    let flags: UInt32
    let instanceAddressPoint: UInt32
    let instanceSize: UInt32
    let instanceAlignment: UInt16
    let reserved: UInt16
    /// The size of the metadata in bytes, and the position in it that the class's address points to.
    let size: UInt32
    let addressPoint: UInt32
    let description: UnsafeRawPointer?
    let destroyer: UnsafeRawPointer?
  }

  /// Returns the only offset where a class differs from the policy class and another one does not.
  private static func place(
    of type: NSEntityMigrationPolicy.Type, besides other: NSEntityMigrationPolicy.Type
  ) -> Int? {
    #if _runtime(_ObjC)
    // The metadata begins differently there.
    return nil
    #else
    let base = metadata(of: NSEntityMigrationPolicy.self)
    let header = base.load(as: ClassMetadata.self)
    guard header.size > header.addressPoint else { return nil }
    let first = MemoryLayout<ClassMetadata>.size / MemoryLayout<Int>.size
    let end = Int(header.size - header.addressPoint) / MemoryLayout<Int>.size
    guard first < end else { return nil }
    let places = (first..<end).filter { place in
      let own = word(place, of: NSEntityMigrationPolicy.self)
      return word(place, of: type) != own && word(place, of: other) == own
    }
    return places.count == 1 ? places[0] : nil
    #endif
  }

  private static func word(_ place: Int, of type: NSEntityMigrationPolicy.Type) -> Int {
    metadata(of: type).load(fromByteOffset: place * MemoryLayout<Int>.size, as: Int.self)
  }

  private static func metadata(of type: NSEntityMigrationPolicy.Type) -> UnsafeRawPointer {
    unsafeBitCast(type as AnyClass, to: UnsafeRawPointer.self)
  }

  /// Overrides only what every class does: its initializer.
  private final class PlainPolicy: NSEntityMigrationPolicy {}

  private final class RelationshipPolicy: NSEntityMigrationPolicy {
    override func createRelationships(
      forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
      trap("This class exists for its metadata only.")
    }
  }
}
