// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Key in expressions and their context: the migration manager, `$manager`.
public let NSMigrationManagerKey = "manager"
/// Key in expressions and their context: the source object, `$source`.
public let NSMigrationSourceObjectKey = "source"
/// Key in expressions and their context: the destination object, `$destination`.
public let NSMigrationDestinationObjectKey = "destination"
/// Key in expressions and their context: the entity mapping, `$entityMapping`.
public let NSMigrationEntityMappingKey = "entityMapping"
/// Key in expressions and their context: the property mapping, `$propertyMapping`.
public let NSMigrationPropertyMappingKey = "propertyMapping"
/// Key in expressions and their context: the policy, `$entityPolicy`.
public let NSMigrationEntityPolicyKey = "entityPolicy"

/// The migration of the objects of one entity mapping. Subclasses override methods to change the default behaviour.
///
/// A migration creates one policy for each entity mapping. It calls `begin`, `createDestinationInstances` for each
/// source object and `endInstanceCreation`, for all mappings; then `createRelationships` for each destination object
/// and `endRelationshipCreation`, for all mappings; then `performCustomValidation`, the model's own validation, a
/// save, and `end`, for all mappings.
///
/// Source objects are read in batches, and each batch is saved before the next. Objects that a policy keeps, for
/// instance in the manager's `userInfo`, become faults at each save, but stay usable and can be changed later.
/// Objects are of class `NSManagedObject` on both sides, whatever class the models name.
open class NSEntityMigrationPolicy: NSObject {
  /// Creates a policy. Required, because the migration creates policies by class name.
  public required override init() {
    super.init()
  }

  /// Called before the first source object of a mapping. The default implementation does nothing.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: the error with which the migration fails.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Creates the destination objects of a source object. The default implementation creates one, sets its attributes as
  /// mapped, and associates it with its source.
  ///
  /// An override that does not call `super` must call `associate(sourceInstance:withDestinationInstance:for:)` for each
  /// object that is looked up by its source later. It may create any number of objects.
  ///
  /// - Parameters:
  ///   - sInstance: an object of the source context.
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: 134110 for an expression without a fitting value; the errors of an override.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try manager.running.objects.createDestinationInstance(forSource: sInstance, in: mapping)
  }

  /// Called after `createDestinationInstances` has been called for all source objects of a mapping.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: the error with which the migration fails.
  open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Sets the relationships of a destination object. The default implementation sets them as mapped.
  ///
  /// - Parameters:
  ///   - dInstance: an object of the destination context that is associated by this mapping.
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: 134110 for an expression without a fitting value; the errors of an override.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try manager.running.objects.createRelationships(forDestination: dInstance, in: mapping)
  }

  /// Called after `createRelationships` has been called for all destination objects of a mapping.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: the error with which the migration fails.
  open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called before the destination objects are validated by the model's rules. An override fetches the objects that it
  /// needs.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: the error with which the migration fails.
  open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called last, after the objects of a mapping have been validated and saved.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration manager.
  /// - Throws: the error with which the migration fails.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Computes `FUNCTION($entityPolicy, "name:", …)` in the expressions of a mapping model.
  ///
  /// An addition to Apple's API that replaces Objective-C selectors: a subclass switches over the names that its
  /// mapping model uses, and passes others to `super`.
  ///
  ///     override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
  ///       switch name {
  ///       case "fullNameOf:": fullName(of: arguments[0] as? NSManagedObject)
  ///       default: try super.callFunction(name, arguments: arguments)
  ///       }
  ///     }
  ///
  /// - Parameters:
  ///   - name: the name in the expression, with its colons.
  ///   - arguments: the values of the arguments.
  /// - Returns: the function's value.
  /// - Throws: an error for an unknown name, with which the migration fails (134110); the errors of an override.
  open func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    throw EvaluationError.unknownFunction(name, operand: "the policy \(type(of: self))")
  }
}

extension NSEntityMigrationPolicy: FunctionProviding {}

/// The migration policies that mapping models name.
///
/// A name in a mapping model may include its module (`App.NotePolicy`), begin with a dot, or be bare. In the last two
/// cases, the class is looked up in the main executable's module and among the registered classes.
public enum MigrationPolicyClasses {
  private static let registry = ClassRegistry()

  /// Registers a policy under the name that mapping models use for it.
  ///
  /// Needed only for classes outside the main executable's module, or in a module with a different name from that in
  /// the mapping model. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the mapping model, including its module if it has one; the class's own name by default.
  public static func register(_ type: NSEntityMigrationPolicy.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// Returns the policy class with a name; nil if there is none.
  package static func type(named name: String) -> NSEntityMigrationPolicy.Type? {
    registry.type(named: name, of: NSEntityMigrationPolicy.self)
  }

  /// Returns whether a class with the name exists, even if it is not a policy.
  static func isKnown(_ name: String) -> Bool { registry.anyType(named: name) != nil }
}
