// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may carry its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"),
/// or be bare; the last two are looked for in the main executable's module and in modules that the app has registered.
public enum ManagedObjectClasses {
  private static let registry = ClassRegistry()

  /// Makes a class known under the name that models use for it.
  ///
  /// Needed only for classes of modules other than the main executable's whose names models give without the module. An
  /// addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the model; the class's own name unless given.
  public static func register(_ type: NSManagedObject.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// The class of an entity's objects; `NSManagedObject` where the model names none that can be found, as on Apple.
  static func of(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    let name: String = entity.managedObjectClassName
    if name == "NSManagedObject" { return NSManagedObject.self }
    if let known = registry.type(named: name, of: NSManagedObject.self) { return known }
    // What was not found is not looked for again with every object.
    registry.remember(NSManagedObject.self, as: name)
    return NSManagedObject.self
  }
}
