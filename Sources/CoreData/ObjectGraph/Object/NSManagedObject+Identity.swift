// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension NSManagedObject {
  /// The identifier; nil for a new object whose identifier has not been accessed yet. May be read on any thread.
  final var knownIdentifier: NSManagedObjectID? {
    if let known = storedIdentifier.load(ordering: .acquiring) { return known.takeUnretainedValue() }
    return rowLayout.map { assignIdentifier($0.identifier(primaryKey)) }
  }

  /// The row from which the identifier will be made; nil if the identifier exists, and for other objects.
  final var unidentifiedRow: (layout: RowLayout, primaryKey: Int64)? {
    if storedIdentifier.load(ordering: .acquiring) != nil { return nil }
    return rowLayout.map { ($0, primaryKey) }
  }

  /// The key of the identifier, without creating one; nil as for `knownIdentifier`. May be read on any thread.
  final var knownKey: ObjectKey? {
    if let known = storedIdentifier.load(ordering: .acquiring) { return known.takeUnretainedValue().key }
    return rowLayout.map { $0.key(primaryKey) }
  }

  /// The identifier. A new object gets a temporary one, and is registered under it, on first access. Many objects are
  /// saved, and get a permanent one, before that.
  final var identifier: NSManagedObjectID {
    if let knownIdentifier { return knownIdentifier }
    if let registry { return registry.identify(self) }
    return assignIdentifier(TemporaryObjectID(for: entity))
  }

  /// Whether the object has no permanent identifier yet.
  final var hasTemporaryID: Bool { (knownKey?.store ?? 0) == 0 }

  /// The key of the identifier.
  final var key: ObjectKey { knownKey ?? identifier.key }

  /// Assigns an identifier, unless another thread has done so first.
  ///
  /// - Returns: the object's identifier.
  final func assignIdentifier(_ made: NSManagedObjectID) -> NSManagedObjectID {
    let reference = Unmanaged.passRetained(made)
    let (isFirst, known) = storedIdentifier.compareExchange(
      expected: nil, desired: reference, ordering: .acquiringAndReleasing)
    if isFirst { return made }
    reference.release()
    return known?.takeUnretainedValue() ?? made
  }

  /// Replaces the identifier. Must not be called on two threads at once.
  final func replaceIdentifier(by id: NSManagedObjectID) {
    let old = storedIdentifier.exchange(.passRetained(id), ordering: .acquiringAndReleasing)
    if let old { keep(old.takeRetainedValue()) }
  }

  /// Retains a replaced identifier or registry for the object's lifetime.
  final func keep(_ replaced: AnyObject) { makeExtraState().replaced.append(replaced) }

  /// Creates a fault for a row.
  static func makeFault(_ identifier: NSManagedObjectID, in context: NSManagedObjectContext) -> NSManagedObject {
    let entity = identifier.entityDescription
    let object = fault(of: entity, ManagedObjectClasses.of(entity))
    object.replaceIdentifier(by: identifier)
    return object
  }

  /// Creates a fault for a row whose identifier is made on first access.
  ///
  /// - Parameter type: the class of the entity's objects.
  static func makeFault(_ layout: RowLayout, _ primaryKey: Int64, of type: NSManagedObject.Type) -> NSManagedObject {
    let object = fault(of: layout.entity, type)
    object.rowLayout = layout
    object.primaryKey = primaryKey
    return object
  }
}
