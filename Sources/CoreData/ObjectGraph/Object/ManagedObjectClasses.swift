// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product
/// module"), or be bare. The last two are looked up among the classes that the program has registered, in the main
/// executable's module, and in the modules that have resources beside the executable. A class of yet another module, such
/// as a library's or a test's, is also found once the program has used it as a type: in `Person(context:)`,
/// `Person(entity:insertInto:)`, or `NSFetchRequest<Person>`.
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
    remember(found ?? NSManagedObject.self, for: entity)
    return found ?? NSManagedObject.self
  }

  /// Returns a sentence about the class that an entity names, if that is not found; nil otherwise.
  static func missingClass(of entity: NSEntityDescription) -> String? {
    guard found(for: entity) == nil, of(entity) == NSManagedObject.self,
      entity.managedObjectClassName != "NSManagedObject"
    else { return nil }
    let name: String = entity.managedObjectClassName
    return
      "The class '\(name)' of the entity '\(entity.name ?? "")' is not found, so its objects are NSManagedObjects. Name the "
      + "class with its module in the model, as in 'App.\(name.split(separator: ".").last ?? "")', or register it with "
      + "ManagedObjectClasses.register(_:as:)."
  }

  private static func found(for entity: NSEntityDescription) -> NSManagedObject.Type? {
    entity.foundClass.load(ordering: .acquiring).map { unsafeBitCast($0, to: NSManagedObject.Type.self) }
  }

  private static func remember(_ type: NSManagedObject.Type, for entity: NSEntityDescription) {
    entity.foundClass.store(unsafeBitCast(type, to: UnsafeRawPointer.self), ordering: .releasing)
  }

  /// Uses a class that the program has used as a type for an entity that names it without a module and whose class is
  /// not found otherwise.
  static func offer(_ type: NSManagedObject.Type, for entity: NSEntityDescription) {
    guard type != NSManagedObject.self, found(for: entity) == nil, of(entity) == NSManagedObject.self,
      names(type, entity)
    else { return }
    remember(type, for: entity)
  }

  /// Returns the entity whose objects are of a class, in the loaded model that has exactly one; nil for none.
  static func entity(of type: NSManagedObject.Type) -> NSEntityDescription? {
    for model in LoadedModels.all {
      let entities = model.entities.filter { entity in
        let known = of(entity)
        return known == type || known == NSManagedObject.self && type != NSManagedObject.self && names(type, entity)
      }
      guard let entity = entities.first, entities.count == 1 else { continue }
      offer(type, for: entity)
      return entity
    }
    return nil
  }

  /// Returns a request for the objects of a class. Without a loaded model that has the class, the entity is assumed to
  /// have its name.
  fileprivate static func request<Result>(for type: NSManagedObject.Type) -> NSFetchRequest<Result> {
    let request = NSFetchRequest<Result>(entityName: entity(of: type)?.name ?? String(describing: type))
    request.specification.objectClass = type == NSManagedObject.self ? nil : type
    return request
  }

  /// Whether an entity names a class, without its module.
  private static func names(_ type: NSManagedObject.Type, _ entity: NSEntityDescription) -> Bool {
    let name: String = entity.managedObjectClassName
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    return bare == String(describing: type)
  }
}

extension NSManagedObject {
  /// Returns a request for the objects of this class.
  ///
  /// A subclass may declare its own, as Xcode generates it: `class func fetchRequest() -> NSFetchRequest<Person>`.
  @_disfavoredOverload
  public class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    ManagedObjectClasses.request(for: self)
  }

  /// Returns a request for the objects of this class, of the type that the caller expects.
  ///
  ///     let request: NSFetchRequest<Person> = Person.fetchRequest()
  ///
  /// An addition to Apple's API, for classes without a `fetchRequest()` of their own and for generic code: outside
  /// Apple's systems, `NSFetchRequest<any NSFetchRequestResult>` cannot be cast to `NSFetchRequest<Person>`.
  @_disfavoredOverload
  public class func fetchRequest<Result>() -> NSFetchRequest<Result> { ManagedObjectClasses.request(for: self) }
}

/// A protocol that gives `NSManagedObject` the initializer `init(context:)`: a subclass may declare its own, and still
/// be made by `T(context:)` and `Self(context:)`, which is possible only with an initializer of a protocol.
public protocol ContextCreated {}

extension ContextCreated where Self: NSManagedObject {
  /// Makes an object of the entity that has this class, and inserts it.
  ///
  /// - Parameter moc: the context, whose model must have exactly one entity with this class.
  public init(context moc: NSManagedObjectContext) { self.init(newIn: moc) }
}

/// Finds classes by their names in models and mapping models.
///
/// A name may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"), or be
/// bare. The last two are looked up among the classes that the program has registered, in the main executable's module, and
/// in the modules that have resources beside the executable (`ProgramClasses`).
final class ClassRegistry: @unchecked Sendable {
  // The lock guards all of them.
  private let lock = NSLock()
  private var registered: [String: AnyClass] = [:]
  private var found: [String: AnyClass] = [:]
  private var isMissing: Set<String> = []

  /// Registers a class under a name. A name taken by another class stops the program, since which of the two would be
  /// found would depend on the order of registration.
  func register(_ type: AnyClass, as name: String) {
    let other: AnyClass? = lock.withLock {
      if let known = registered[name], known != type { return known }
      registered[name] = type
      found = [:]
      isMissing = []
      return nil
    }
    if let other {
      trap(
        "The class \(String(reflecting: type)) cannot be registered as '\(name)', which is the name of "
          + "\(String(reflecting: other)). Register it under another name, and use that in the model or mapping model.")
    }
  }

  /// Returns the subclass of `base` with that name, if any. Results are cached until a class is registered.
  func type<Class: AnyObject>(named name: String, of base: Class.Type) -> Class.Type? {
    lock.withLock {
      if let known = found[name] { return known as? Class.Type }
      if isMissing.contains(name) { return nil }
      let type = candidates(for: name).lazy.compactMap { $0 as? Class.Type }.first
      if let type { found[name] = type } else { isMissing.insert(name) }
      return type
    }
  }

  /// Returns the class of that name, whatever its superclass, for error messages.
  func anyType(named name: String) -> AnyClass? { lock.withLock { candidates(for: name).first } }

  private func candidates(for name: String) -> [AnyClass] {
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    let known = [registered[name], registered[bare]].compactMap { $0 }
    // Foundation complains about names with two dots.
    let names = bare.contains(".") ? [bare] : [bare, "\(Self.mainModule).\(bare)"]
    return known + names.compactMap { NSClassFromString($0) } + [ProgramClasses.named(bare)].compactMap { $0 }
  }

  /// The module of the main executable: its file name, with invalid characters replaced as SwiftPM does.
  private static let mainModule: String = {
    let name = URL(fileURLWithPath: CommandLine.arguments.first ?? "").deletingPathExtension().lastPathComponent
    return String(name.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" })
  }()
}

extension NSEntityDescription {
  /// Returns the entity of that name in the model of a context.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - context: a context with a coordinator.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.coordinator.managedObjectModel.entitiesByName[entityName]
  }

  /// Makes an object of the entity of that name, of the class that the model names for it, and inserts it.
  ///
  /// - Parameters:
  ///   - entityName: the name of an entity of the context's model. An unknown name stops the program.
  ///   - context: a context with a coordinator.
  public class func insertNewObject(
    forEntityName entityName: String, into context: NSManagedObjectContext
  ) -> NSManagedObject {
    guard let entity = context.entity(named: entityName) else {
      let known = context.coordinator.managedObjectModel.entities.compactMap(\.name).sorted()
      trap(
        "The model has no entity named '\(entityName)'. It has: \(known.joined(separator: ", ")).")
    }
    let type = ManagedObjectClasses.of(entity)
    if let advice = ManagedObjectClasses.missingClass(of: entity) { Warnings.printOnce(advice) }
    return type.init(entity: entity, insertInto: context)
  }
}
