// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Finds the classes that entities name.
///
/// A name in a model may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product
/// module"), or be bare. In the last two cases, the class is looked up among those registered by the program, in the
/// main executable's module, and in the modules that have resources beside the executable. A class of any other module,
/// such as a library's or a test's, is found after the program has used it as a type: in `Person(context:)`,
/// `Person(entity:insertInto:)`, or `NSFetchRequest<Person>`.
public enum ManagedObjectClasses {
  private static let registry = ClassRegistry()

  /// Registers a class under the name that models use for it.
  ///
  /// Needed only for a class outside the main executable's module, if the model names it without its module and the
  /// program does not use it as a type before its objects are created. An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - name: the name in the model; by default the class's own name. Traps if the name is registered for another
  ///     class.
  public static func register(_ type: NSManagedObject.Type, as name: String? = nil) {
    registry.register(type, as: name ?? String(describing: type))
  }

  /// Sets the class of an entity's objects, whatever class the model names.
  ///
  /// - Parameters:
  ///   - type: the class.
  ///   - entity: an entity whose objects have not been created yet.
  package static func assign(_ type: NSManagedObject.Type, to entity: NSEntityDescription) {
    remember(type, for: entity)
  }

  /// Returns the class of an entity's objects; `NSManagedObject` if the class named in the model is not found, as on
  /// Apple's systems.
  static func of(_ entity: NSEntityDescription) -> NSManagedObject.Type {
    if let known = found(for: entity) { return known }
    let name: String = entity.managedObjectClassName
    let found = name == "NSManagedObject" ? nil : registry.type(named: name, of: NSManagedObject.self)
    // A missing class may be registered later.
    guard found != nil || name == "NSManagedObject" else { return NSManagedObject.self }
    remember(found ?? NSManagedObject.self, for: entity)
    return found ?? NSManagedObject.self
  }

  /// Returns a sentence about an entity's class if it is not found; nil otherwise.
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

  /// Registers a class that the program has used as a type, if the entity names it without a module and the class is
  /// not found otherwise.
  static func offer(_ type: NSManagedObject.Type, for entity: NSEntityDescription) {
    guard type != NSManagedObject.self, found(for: entity) == nil, of(entity) == NSManagedObject.self,
      names(type, entity)
    else { return }
    remember(type, for: entity)
  }

  /// Returns the entity whose objects have a class, if exactly one in a loaded model does; nil otherwise.
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

  /// Returns a request for the objects of a class. If no loaded model contains the class, the entity is assumed to have
  /// the same name.
  fileprivate static func request<Result>(for type: NSManagedObject.Type) -> NSFetchRequest<Result> {
    let request = NSFetchRequest<Result>(entityName: entity(of: type)?.name ?? String(describing: type))
    request.specification.objectClass = type == NSManagedObject.self ? nil : type
    return request
  }

  /// Returns whether an entity names a class, disregarding the module.
  private static func names(_ type: NSManagedObject.Type, _ entity: NSEntityDescription) -> Bool {
    let name: String = entity.managedObjectClassName
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    return bare == String(describing: type)
  }
}

extension NSManagedObject {
  /// Returns a request for the objects of this class.
  ///
  /// A subclass may declare its own, as generated by Xcode: `class func fetchRequest() -> NSFetchRequest<Person>`.
  @_disfavoredOverload
  public class func fetchRequest() -> NSFetchRequest<any NSFetchRequestResult> {
    ManagedObjectClasses.request(for: self)
  }

  /// Returns a request for the objects of this class, with the type that the caller expects.
  ///
  ///     let request: NSFetchRequest<Person> = Person.fetchRequest()
  ///
  /// An addition to Apple's API, for classes without a `fetchRequest()` of their own and for generic code: outside
  /// Apple's systems, `NSFetchRequest<any NSFetchRequestResult>` cannot be cast to `NSFetchRequest<Person>`.
  @_disfavoredOverload
  public class func fetchRequest<Result>() -> NSFetchRequest<Result> { ManagedObjectClasses.request(for: self) }
}

/// A protocol that gives `NSManagedObject` the initializer `init(context:)`. Because the initializer belongs to a
/// protocol, a subclass may declare its own, and still be created with `T(context:)` and `Self(context:)`.
public protocol ContextCreated {}

extension ContextCreated where Self: NSManagedObject {
  /// Creates an object of the entity that has this class, and inserts it.
  ///
  /// - Parameter moc: the context, whose model must have exactly one entity with this class.
  public init(context moc: NSManagedObjectContext) { self.init(newIn: moc) }
}

/// Finds classes by their names in models and mapping models.
///
/// A name may include its module (`App.Person`), begin with a dot (`.Person`, Xcode's "current product module"), or be
/// bare. In the last two cases, the class is looked up among those registered by the program, in the main executable's
/// module, and in the modules that have resources beside the executable (`ProgramClasses`).
final class ClassRegistry: @unchecked Sendable {
  // Guards the following properties.
  private let lock = NSLock()
  private var registered: [String: AnyClass] = [:]
  private var found: [String: AnyClass] = [:]
  private var isMissing: Set<String> = []

  /// Registers a class under a name. Traps if the name belongs to another class, because the order of registration
  /// would decide which of them is found.
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

  /// Returns the subclass of `base` with a name; nil if there is none. Results are cached until a class is registered.
  func type<Class: AnyObject>(named name: String, of base: Class.Type) -> Class.Type? {
    lock.withLock {
      if let known = found[name] { return known as? Class.Type }
      if isMissing.contains(name) { return nil }
      let type = candidates(for: name).lazy.compactMap { $0 as? Class.Type }.first
      if let type { found[name] = type } else { isMissing.insert(name) }
      return type
    }
  }

  /// Returns the class with a name, whatever its superclass, for error messages.
  func anyType(named name: String) -> AnyClass? { lock.withLock { candidates(for: name).first } }

  private func candidates(for name: String) -> [AnyClass] {
    let bare = name.hasPrefix(".") ? String(name.dropFirst()) : name
    let known = [registered[name], registered[bare]].compactMap { $0 }
    // Foundation logs a complaint about names with two dots.
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
  /// Returns the entity with a name in the model of a context.
  ///
  /// - Parameters:
  ///   - entityName: the entity's name.
  ///   - context: a context with a coordinator.
  public class func entity(forEntityName entityName: String, in context: NSManagedObjectContext) -> NSEntityDescription?
  {
    context.coordinator.managedObjectModel.entitiesByName[entityName]
  }

  /// Creates an object of the named entity, with the class that the model names for it, and inserts it.
  ///
  /// - Parameters:
  ///   - entityName: the name of an entity of the context's model. Traps for an unknown name.
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
