// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may carry its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"),
/// or be bare; the last two are looked for in the main executable's module and in modules that the app has registered.
public enum ManagedObjectClasses {
  private static let lock = NSLock()
  nonisolated(unsafe) private static var registered: [String: NSManagedObject.Type] = [:]
  nonisolated(unsafe) private static var found: [String: NSManagedObject.Type] = [:]

  /// Makes a class known under the name that models use for it.
  ///
  /// Needed only for classes of modules other than the main executable's whose names models give without the module. An
  /// addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the model; the class's own name unless given.
  public static func register(_ type: NSManagedObject.Type, as name: String? = nil) {
    lock.withLock {
      registered[name ?? String(describing: type)] = type
      found = [:]
    }
  }

  /// The class of an entity's objects; `NSManagedObject` where the model names none that can be found, as on Apple.
  static func of(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    let name: String = entity.managedObjectClassName
    return lock.withLock {
      if let known = found[name] { return known }
      let type = lookUp(name)
      found[name] = type
      return type
    }
  }

  private static func lookUp(_ name: String) -> NSManagedObject.Type {
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    if let type = registered[name] ?? registered[bare] { return type }
    for candidate in [bare, "\(mainModule).\(bare)"] {
      if let type = NSClassFromString(candidate) as? NSManagedObject.Type { return type }
    }
    return NSManagedObject.self
  }

  /// The module of the main executable: its file name, with what no module name can hold replaced as SwiftPM does.
  private static let mainModule: String = {
    let name = URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingPathExtension().lastPathComponent
    return String(name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }()
}
