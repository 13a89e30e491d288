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

/// How the objects of one entity mapping are migrated: subclasses override what they want to be otherwise.
///
/// A migration makes one policy for each entity mapping. Its methods are called in this order: `begin`,
/// `createDestinationInstances` for each source object and `endInstanceCreation`, for all mappings; then
/// `createRelationships` for each destination object and `endRelationshipCreation`, for all mappings; then
/// `performCustomValidation`, the model's own validation, a save, and `end`, for all mappings.
///
/// Source objects are read in batches, and what has been made of a batch is saved before the next. Objects that a policy
/// keeps, for instance in the manager's `userInfo`, stay usable and can be changed later; they become faults meanwhile.
/// Objects are of class `NSManagedObject` on both sides, whatever the models say.
open class NSEntityMigrationPolicy: NSObject {
  /// Makes a policy; the migration does so by the class's name, hence `required`.
  public required override init() {
    super.init()
  }

  /// Called before the first source object of a mapping. Does nothing unless overridden.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: whatever the migration is to fail with.
  open func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {}

  /// Makes the destination objects of a source object: here one, with the attributes as mapped, associated with its source.
  ///
  /// An override that does not call this is to call `associate(sourceInstance:withDestinationInstance:for:)` itself for each
  /// object that is to be found later by its source; it may make none, one or several objects.
  ///
  /// - Parameters:
  ///   - sInstance: an object of the source context.
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: 134110 for an expression without a value that fits; what an override throws.
  open func createDestinationInstances(
    forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try manager.running.objects.createDestinationInstance(forSource: sInstance, in: mapping)
  }

  /// Called when all source objects of a mapping have been through `createDestinationInstances`.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: whatever the migration is to fail with.
  open func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Sets the relationships of a destination object, here as mapped.
  ///
  /// - Parameters:
  ///   - dInstance: an object of the destination context that is associated by this mapping.
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: 134110 for an expression without a value that fits; what an override throws.
  open func createRelationships(
    forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
  ) throws {
    try manager.running.objects.createRelationships(forDestination: dInstance, in: mapping)
  }

  /// Called when all destination objects of a mapping have been through `createRelationships`.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: whatever the migration is to fail with.
  open func endRelationshipCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called before the destination objects are validated by the model's rules; objects are to be fetched.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: whatever the migration is to fail with.
  open func performCustomValidation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Called last, when a mapping's objects are validated and saved.
  ///
  /// - Parameters:
  ///   - mapping: the entity mapping.
  ///   - manager: the migration.
  /// - Throws: whatever the migration is to fail with.
  open func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {}

  /// Answers `FUNCTION($entityPolicy, "name:", …)` in the expressions of a mapping model.
  ///
  /// An addition to Apple's interface, in the place of Objective-C's selectors: a subclass switches over the names that its
  /// mapping model uses, and passes others on.
  ///
  ///     override func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
  ///       switch name {
  ///       case "fullNameOf:": fullName(of: arguments[0] as? NSManagedObject)
  ///       default: try super.callFunction(name, arguments: arguments)
  ///       }
  ///     }
  ///
  /// - Parameters:
  ///   - name: the name as it stands in the expression, with its colons.
  ///   - arguments: the values of the arguments.
  /// - Returns: the function's value.
  /// - Throws: for a name that nobody knows; the migration fails with 134110 then. What an override throws.
  open func callFunction(_ name: String, arguments: [Any?]) throws -> Any? {
    throw EvaluationError.unknownFunction(name, operand: "the policy \(type(of: self))")
  }
}

extension NSEntityMigrationPolicy: FunctionProviding {}

/// Finds the migration policies that mapping models name.
///
/// A name in a mapping model may carry its module (`App.NotePolicy`), begin with a dot, or be bare; the last two are looked
/// for in the main executable's module and among the classes that the program has registered.
public enum MigrationPolicyClasses {
  private static let registry = ClassRegistry()

  /// Makes a policy known under the name that mapping models use for it.
  ///
  /// Needed only for classes of modules other than the main executable's, or whose module is called otherwise than in the
  /// mapping model. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the mapping model, with its module where it is written so; the class's own name unless given.
  public static func register(_ type: NSEntityMigrationPolicy.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// The policy class of that name; nil where there is none.
  static func type(named name: String) -> NSEntityMigrationPolicy.Type? {
    registry.type(named: name, of: NSEntityMigrationPolicy.self)
  }

  /// Whether there is a class of that name, be it a policy or not.
  static func isKnown(_ name: String) -> Bool { registry.anyType(named: name) != nil }
}
