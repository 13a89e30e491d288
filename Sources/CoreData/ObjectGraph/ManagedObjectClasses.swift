// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product
/// module"), or be bare. The last two are looked up among the classes that the program has registered, and in the main
/// executable's module. A class of another module, such as a library's or a test's, is also found once the program has
/// used it as a type: in `Person(context:)`, `Person(entity:insertInto:)`, or `NSFetchRequest<Person>`.
public enum ManagedObjectClasses {
  private static let registry = ClassRegistry()

  /// Registers a class under the name that models use for it.
  ///
  /// Needed only for a class of another module than the main executable's, if the model names it without its module and
  /// the program does not use it as a type before its objects are made. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the model; by default the class's own name. A name registered for another class stops the
  ///     program.
  public static func register(_ type: NSManagedObject.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// Returns the class of an entity's objects; `NSManagedObject` if the class that the model names is not found, as on
  /// Apple's systems.
  static func of(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    if let known = found(for: entity) { return known }
    let name: String = entity.managedObjectClassName
    let found = name == "NSManagedObject" ? nil : registry.type(named: name, of: NSManagedObject.self)
    // A class that is not found may be registered later.
    guard found != nil || name == "NSManagedObject" else { return NSManagedObject.self }
    entity.foundClass.withLock { $0 = found ?? NSManagedObject.self }
    return found ?? NSManagedObject.self
  }

  private static func found(for entity: NSEntityDescription) -> NSManagedObject.Type? {
    entity.foundClass.withLock { $0 } as? NSManagedObject.Type
  }

  /// Uses a class that the program has used as a type for an entity that names it without a module and whose class is
  /// not found otherwise.
  static func offer(_ type: NSManagedObject.Type, for entity: NSEntityDescription) {
    guard type != NSManagedObject.self, found(for: entity) == nil, of(entity) == NSManagedObject.self,
      names(type, entity)
    else { return }
    entity.foundClass.withLock { $0 = type }
  }

  /// Whether an entity names a class, without its module.
  private static func names(_ type: NSManagedObject.Type, _ entity: NSEntityDescription) -> Bool {
    let name: String = entity.managedObjectClassName
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    return bare == String(describing: type)
  }
}
