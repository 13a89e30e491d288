// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation
import Synchronization

/// A property of a class of managed objects, used by its accessors: the counterpart of `@NSManaged` outside Apple's
/// systems.
///
///     public class Person: NSManagedObject {
///       public var name: String? {
///         get { Self.managedProperty_name[self] }
///         set { Self.managedProperty_name[self] = newValue }
///       }
///       private static let managedProperty_name = ManagedProperty<String?>("name")
///     }
///
/// `coredata model generate` and the plug-in `CoreDataModels` generate such accessors. The property remembers the slot
/// of its value, so that an access needs no lookup by name. An addition to Apple's API.
///
/// A name such as `primitiveName`, if the model has only `name`, accesses the value like `primitiveValue(forKey:)` and
/// `setPrimitiveValue(_:forKey:)`.
public struct ManagedProperty<Value>: Sendable {
  let access: PropertyAccess

  /// Creates a property.
  ///
  /// - Parameter name: the name of an attribute, a relationship or a fetched property in the model.
  public init(_ name: String) {
    access = PropertyAccess(name, Value.self)
  }

  /// The property's name.
  public var name: String { access.name }
}

/// Finds, reads and writes a property of objects.
final class PropertyAccess: Sendable {
  let name: String
  /// The type that the class declares.
  let declared: Any.Type

  /// The property's place in the most recently accessed objects: the number of their `SlotTable` in the upper half, and
  /// `Location.bits` in the lower half.
  private let lastLocation = Atomic<UInt64>(0)

  init(_ name: String, _ declared: Any.Type) {
    self.name = name
    self.declared = declared
  }

  /// The place of a property's value in an object.
  struct Location {
    private static let primitive: UInt32 = 1 << 31

    fileprivate let bits: UInt32

    fileprivate init(bits: UInt32) {
      self.bits = bits
    }

    init(_ position: Int, isPrimitive: Bool = false) {
      bits = UInt32(position) | (isPrimitive ? Self.primitive : 0)
    }

    var position: Int { Int(bits & ~Self.primitive) }
    /// Whether the access is to the primitive value.
    var isPrimitive: Bool { bits & Self.primitive != 0 }
  }

  /// Returns the place of the property in an object; nil if the object has no slot for it.
  @inline(__always)
  func location(in object: NSManagedObject) -> Location? {
    let known = lastLocation.load(ordering: .relaxed)
    let number = object.table.number
    if UInt32(truncatingIfNeeded: known >> 32) == number { return Location(bits: UInt32(truncatingIfNeeded: known)) }
    guard let location = findLocation(in: object.table) else { return nil }
    lastLocation.store(UInt64(number) << 32 | UInt64(location.bits), ordering: .relaxed)
    return location
  }

  private func findLocation(in table: SlotTable) -> Location? {
    // The key of `addToURLs(_:)` is spelled `uRLs`.
    let upper = name.prefix(1).uppercased() + name.dropFirst()
    if let position = table.position(of: name) ?? table.position(of: upper) { return Location(position) }
    guard let (plain, lower) = ManagedPropertyName.withoutPrimitive(name) else { return nil }
    return (table.position(of: lower) ?? table.position(of: plain)).map { Location($0, isPrimitive: true) }
  }

  // MARK: Reading

  /// Reads an attribute's slot, firing a fault; relationships are read by `value(of:)`.
  @inline(__always)
  func attribute(of object: NSManagedObject) -> Slot? {
    guard let location = location(in: object), !location.isPrimitive, location.position < object.table.firstRelationship
    else {
      return nil
    }
    object.willAccessValue(forKey: name)
    let slot = object.slot(at: location.position)
    object.didAccessValue(forKey: name)
    if case .archived = slot { return nil }
    return slot
  }

  /// Reads any property as `value(forKey:)` or `primitiveValue(forKey:)` does.
  func value(of object: NSManagedObject) -> Any? {
    guard let location = location(in: object) else { return object.value(forKey: name) }
    let key = object.table.names[location.position]
    return location.isPrimitive ? object.primitiveValue(forKey: key) : object.value(forKey: key)
  }

  // MARK: Writing

  /// Writes a value.
  ///
  /// - Parameters:
  ///   - value: the value for `setValue(_:forKey:)`, used if the property has no slot.
  ///   - slot: returns the slot for an attribute type; nil if the type does not fit.
  @inline(__always)
  func write(_ object: NSManagedObject, _ value: @autoclosure () -> Any?, slot: (NSAttributeType) -> Slot?) {
    if let location = location(in: object), !location.isPrimitive, location.position < object.table.firstRelationship,
      let slot = slot(object.table.kinds[location.position])
    {
      object.willChangeValue(forKey: name)
      object.replace(slot, at: location.position)
      object.didChangeValue(forKey: name)
    } else {
      set(value(), of: object)
    }
  }

  /// Writes any property as `setValue(_:forKey:)` or `setPrimitiveValue(_:forKey:)` does.
  func set(_ value: Any?, of object: NSManagedObject) {
    guard let location = location(in: object) else {
      // A custom initializer may set values of an object that only records a key path.
      if object.entity === KeyPathRecorder.entity { return }
      return object.setValue(value, forKey: name)
    }
    let key = object.table.names[location.position]
    if location.isPrimitive {
      object.setPrimitiveValue(value, forKey: key)
    } else {
      object.setValue(value, forKey: key)
    }
  }

  /// Traps because a value does not have the type that the class declares.
  func stop(_ object: NSManagedObject, wanted: Any.Type, found: Any?) -> Never {
    let entity = object.entity.name ?? ""
    let value = found.map { "a value of the class \(Swift.type(of: $0))" } ?? "no value"
    var advice = ""
    if let destination = found as? NSManagedObject, Swift.type(of: destination) == NSManagedObject.self {
      advice =
        " The class \(destination.entity.managedObjectClassName ?? "") that the model names for "
        + "\(destination.entity.name ?? "") was not found; its name in the model may lack the module."
    }
    trap("\(name) of \(entity) is declared as \(wanted), but has \(value).\(advice)")
  }
}

/// Names of accessors.
enum ManagedPropertyName {
  private static let prefix = "primitive"

  /// Returns `Date` and `date` for `primitiveDate`; nil for a name of another form.
  static func withoutPrimitive(_ name: String) -> (plain: String, lower: String)? {
    guard name.hasPrefix(prefix), let first = name.dropFirst(prefix.count).first, !first.isLowercase else { return nil }
    let plain = String(name.dropFirst(prefix.count))
    return (plain, plain.prefix(1).lowercased() + plain.dropFirst())
  }
}
