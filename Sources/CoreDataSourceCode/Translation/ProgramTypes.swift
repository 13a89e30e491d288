// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import SwiftSourceScanning

/// The types of a program in all its files, and the entities of its models.
struct ProgramTypes {
  private struct Entity {
    let document: EntityDocument
    let index: EntityIndex
  }

  /// The bare names of the inherited types of each type, by its bare name.
  private var inherited: [String: Set<String>] = [:]
  /// The names of the properties that each type declares.
  private var properties: [String: Set<String>] = [:]
  private var entities: [String: Entity] = [:]
  private(set) var objectiveCNames: [String: String] = [:]
  /// The methods of each class that Objective-C can call, in source order.
  private(set) var methods: [String: [CallableMethod]] = [:]

  /// The computed properties of each class that Objective-C can call.
  private(set) var computedProperties: [String: [ComputedProperty]] = [:]

  /// The classes declared in the files, to which a translation can add members, by their qualified names.
  private var classes: Set<String> = []
  /// The names of declared types, without those of the enclosing types; not those that are only extended.
  private(set) var ownNames: Set<String> = []

  /// The overrides for members of extensions, by the qualified name of the class.
  private var extensionOverrides: [String: [MemberText]] = [:]

  /// The members of every managed object.
  private static let managedObject: Set<String> = [
    "description", "entity", "faultingState", "hasChanges", "hasPersistentChangedValues", "hash", "isDeleted",
    "isFault",
    "isInserted", "isUpdated", "managedObjectContext", "objectID", "self",
  ]

  init(files: [SourceFile], models: [ModelDocument]) {
    for model in models {
      let index = EntityIndex(model)
      for document in model.entities {
        guard let name = GeneratedClasses.className(of: document), entities[name] == nil else { continue }
        entities[name] = Entity(document: document, index: index)
      }
    }
    for file in files {
      let variables = Self.variables(in: file)
      for (position, type) in file.types.enumerated() {
        if type.kind != "extension" || inherited[type.bareName] == nil {
          let names = type.inherited.map { $0.split(separator: ".").last.map(String.init) ?? $0 }
          inherited[type.bareName, default: []].formUnion(names)
        }
        if type.kind == "class", !type.isPrivate, !type.isHidden, let name = type.objectiveCName {
          objectiveCNames[name] = type.name
        }
        if type.kind != "extension" { ownNames.insert(type.bareName) }
        if type.kind == "class", !type.isHidden { classes.insert(type.name) }
        let overrides = ExtensionOverride.all(in: type, of: file).compactMap(\.member)
        if !overrides.isEmpty { extensionOverrides[type.name, default: []] += overrides }
        properties[type.bareName, default: []].formUnion(variables[position] ?? [])
        if type.kind == "class" || type.kind == "extension" {
          methods[type.bareName, default: []] += CallableMethod.all(in: type, of: file)
          computedProperties[type.bareName, default: []] += ComputedProperty.all(in: type, of: file)
        }
      }
    }
  }

  /// Returns the names of variables in each type, excluding nested types, by the type's position in the file.
  private static func variables(in file: SourceFile) -> [Int: [String]] {
    var result: [Int: [String]] = [:]
    for position in file.words.indices where file.words[position] == "var" && file.isWord(position + 1) {
      guard let type = file.typePosition(around: position) else { continue }
      result[type, default: []].append(file.word(position + 1).filter { $0 != "`" })
    }
    return result
  }

  /// Whether the files declare a type.
  func declaresType(_ name: String) -> Bool { inherited[name] != nil }

  /// Whether a build declares a class, from a source or a model, so that members can be added to it.
  func canHaveOverrides(_ name: String) -> Bool {
    classes.contains(name) || entities[name]?.document.codeGeneration == .class
  }

  /// Returns the overrides of a class that call the members of its extensions.
  func overrides(of name: String, access: String) -> [MemberText] {
    (extensionOverrides[name] ?? []).map { $0.prefixed(access) }
  }

  /// The classes with such overrides.
  var overriddenClasses: [String] { extensionOverrides.keys.sorted() }

  /// Returns the name of a class's entity.
  func entityName(of className: String) -> String? { entities[className]?.document.name }

  /// Whether a class is a migration policy, as far as the files show.
  func isPolicy(_ name: String) -> Bool { ancestors(of: name).contains("NSEntityMigrationPolicy") }

  /// Whether a class is a managed object class, as far as the files and models show.
  func isManagedObject(_ name: String) -> Bool {
    entities[name] != nil || ancestors(of: name).contains { $0 == "NSManagedObject" || entities[$0] != nil }
  }

  private func ancestors(of name: String) -> Set<String> {
    var seen: Set<String> = []
    var open = [name]
    while let next = open.popLast() {
      for type in inherited[next] ?? [] where seen.insert(type).inserted { open.append(type) }
    }
    return seen
  }

  // MARK: Key paths

  /// Returns the keys of a `#keyPath`, without the types before them.
  ///
  /// - Parameters:
  ///   - parts: the names between the parentheses.
  ///   - type: the enclosing type of the literal.
  /// - Returns: the keys, and a problem with one of the parts.
  func keys(
    in parts: [String], around type: TypeDeclaration?
  ) -> (keys: [String], problem: (part: Int, text: String)?) {
    var first = 0
    var root = type?.bareName
    while first < parts.count - 1, isType(parts[first]) {
      if parts[first] != "Self" { root = parts[first] }
      first += 1
    }
    let keys = Array(parts[first...])
    guard !keys.isEmpty else { return ([], parts.isEmpty ? nil : (0, "A key path has at least one property.")) }
    var name = root
    for (offset, key) in keys.enumerated() {
      guard let current = name, let entity = entities[current] else { break }
      let line = entity.index.lineage(of: entity.document.name)
      if let relationship = line.lazy.flatMap(\.relationships).first(where: { $0.name == key }) {
        name = relationship.destinationEntityName.flatMap { entity.index[$0] }.flatMap {
          GeneratedClasses.className(of: $0)
        }
      } else if line.contains(where: { $0.propertyNames.contains(key) }) || declares(key, current) {
        break
      } else {
        let known = line.flatMap(\.propertyNames).sorted().joined(separator: ", ")
        let text = "\(current) has no property \"\(key)\". The entity \(entity.document.name) has: \(known)."
        return (keys, (first + offset, text))
      }
    }
    return (keys, nil)
  }

  private func isType(_ name: String) -> Bool {
    entities[name] != nil || inherited[name] != nil || name.first?.isUppercase == true
  }

  private func declares(_ property: String, _ name: String) -> Bool {
    Self.managedObject.contains(property)
      || ancestors(of: name).union([name]).contains { properties[$0]?.contains(property) == true }
  }
}
