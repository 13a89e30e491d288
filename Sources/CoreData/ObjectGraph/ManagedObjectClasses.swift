// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may carry its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"),
/// or be bare; the last two are looked for in the main executable's module and among the classes that the program has
/// registered. A class of another module, such as a library's or a test's, is also known as soon as the program names it by
/// its type: in `Person(context:)`, `Person(entity:insertInto:)`, or an `NSFetchRequest<Person>`.
public enum ManagedObjectClasses {
  private static let registry = ClassRegistry()

  /// Makes a class known under the name that models use for it.
  ///
  /// Needed only for classes of modules other than the main executable's whose names models give without the module, and
  /// which the program does not name by their types before their objects are made. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the model; the class's own name unless given. A name that another class has been registered
  ///     under stops the program.
  public static func register(_ type: NSManagedObject.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// The class of an entity's objects; `NSManagedObject` where the model names none that can be found, as on Apple.
  static func of(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    if let known = found(for: entity) { return known }
    let name: String = entity.managedObjectClassName
    let found = name == "NSManagedObject" ? nil : registry.type(named: name, of: NSManagedObject.self)
    // A class that cannot be found may be registered later.
    guard found != nil || name == "NSManagedObject" else { return NSManagedObject.self }
    entity.foundClass.withLock { $0 = found ?? NSManagedObject.self }
    return found ?? NSManagedObject.self
  }

  private static func found(for entity: NSEntityDescription) -> NSManagedObject.Type? {
    entity.foundClass.withLock { $0 } as? NSManagedObject.Type
  }

  /// Takes a class that the program has named by its type for that of an entity whose own cannot be found, where the
  /// entity names it without a module.
  static func offer(_ type: NSManagedObject.Type, for entity: NSEntityDescription) {
    guard type != NSManagedObject.self, found(for: entity) == nil, of(entity) == NSManagedObject.self,
      names(type, entity)
    else { return }
    entity.foundClass.withLock { $0 = type }
  }

  /// Whether an entity has the name of a class, without a module.
  private static func names(_ type: NSManagedObject.Type, _ entity: NSEntityDescription) -> Bool {
    let name: String = entity.managedObjectClassName
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    return bare == String(describing: type)
  }
}
