// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles

/// The Swift classes of a model's entities, as Xcode generates them: for each entity a class definition, an extension
/// with its properties, or nothing, depending on the entity.
///
/// The properties have the same types as in Xcode: optional except for scalar types, and `NSSet` or `NSOrderedSet` for
/// to-many relationships. Their accessors use `ManagedProperty` instead of `@NSManaged`.
package struct GeneratedClasses {
  /// Options for the generated code, in addition to the model.
  package struct Options {
    /// The access level of classes and members: `public`, `package` or `internal`.
    package var access = Access.public
    /// Whether to generate classes for entities whose classes are written by hand.
    package var includesManual = false
    /// Whether required attributes and to-one relationships are not optional.
    package var isStrict = false
    /// The Swift names of classes for which the model uses Objective-C names.
    package var swiftNames: [String: String] = [:]
    /// The lines of additional members, by class.
    package var members: [String: [String]] = [:]

    package init() {}
  }

  package enum Access: String, CaseIterable {
    case `public`, package, `internal`
  }

  /// A generated file.
  package struct File {
    package let name: String
    package let text: String
  }

  /// The files, two for each class: one with its definition and one with its properties.
  package private(set) var files: [File] = []
  /// Sentences about parts that could not be generated.
  package private(set) var remarks: [String] = []

  private let index: EntityIndex
  private let options: Options
  private let origin: String

  /// Returns the first line of every generated file, which identifies such files.
  package static func mark(_ origin: String) -> String {
    "// Generated from \(SwiftName.inComment(origin)) by coredata. Changes will be lost."
  }

  /// Generates classes.
  ///
  /// - Parameters:
  ///   - document: a valid model.
  ///   - origin: the name of the model's file.
  package init(_ document: ModelDocument, origin: String, options: Options = Options()) {
    var document = document
    document.removeRepeatedProperties()
    index = EntityIndex(document)
    self.options = options
    self.origin = origin
    var taken: [String: String] = [:]
    for entity in document.entities {
      let kind = entity.codeGeneration == .manual && options.includesManual ? .class : entity.codeGeneration
      guard kind != .manual, let name = swiftName(of: entity) else { continue }
      guard let declared = SwiftName.declared(name), SwiftName.isFree(name) else {
        remarks.append("\(entity.name): \"\(name)\" is not a valid class name in Swift.")
        continue
      }
      if let other = taken[name] {
        remarks.append("\(entity.name) has the class \(name) of \(other), which has the properties of \(other) only.")
        continue
      }
      taken[name] = entity.name
      if kind == .class {
        files.append(File(name: "\(name)+CoreDataClass.swift", text: definition(of: entity, declared)))
      }
      files.append(File(name: "\(name)+CoreDataProperties.swift", text: properties(of: entity, declared)))
    }
  }

  /// Returns the class name of an entity's objects, without its module; nil for `NSManagedObject`.
  package static func className(of entity: EntityDocument) -> String? {
    let name = SwiftName.bare(entity.className)
    return name == "NSManagedObject" ? nil : name
  }

  /// Returns the Swift name of the class of an entity's objects; nil for `NSManagedObject`.
  private func swiftName(of entity: EntityDocument) -> String? {
    Self.className(of: entity).map { options.swiftNames[$0] ?? $0 }
  }

  private var access: String { options.access == .internal ? "" : options.access.rawValue + " " }

  private func header() -> String { Self.mark(origin) + "\n\nimport CoreData\n\n" }

  // MARK: Classes

  /// Returns the nearest ancestor with its own class, and the entities without one below it, beginning with the entity
  /// itself.
  private func ancestry(of entity: EntityDocument) -> (superclass: String, members: [EntityDocument]) {
    let own = swiftName(of: entity)
    var members: [EntityDocument] = []
    for ancestor in index.lineage(of: entity.name) {
      let name = swiftName(of: ancestor)
      if let name, name != own { return (SwiftName.declared(name) ?? name, members) }
      members.append(ancestor)
    }
    return ("NSManagedObject", members)
  }

  private func definition(of entity: EntityDocument, _ name: String) -> String {
    let members = (options.members[name] ?? []).map { $0 + "\n" }.joined()
    return header()
      + "\(access)class \(name): \(ancestry(of: entity).superclass) {\(members.isEmpty ? "" : "\n" + members)}\n"
  }

  private func properties(of entity: EntityDocument, _ name: String) -> String {
    let (superclass, members) = ancestry(of: entity)
    var text = header()
    text += "extension \(name) {\n"
    text += "  \(access)class func fetchRequest() -> NSFetchRequest<\(name)> {\n"
    text += "    NSFetchRequest<\(name)>(entityName: \(SwiftName.literal(entity.name)))\n  }\n"
    var constants: [String] = []
    var collections: [RelationshipDocument] = []
    // A property overridden by a subentity uses the accessors of its superclass.
    let ancestors = index.lineage(of: entity.name).dropFirst(members.count)
    var seen = Set(ancestors.flatMap(\.propertyNames))
    func declare(_ property: String, _ type: String) -> Bool {
      guard seen.insert(property).inserted else { return false }
      guard let declared = SwiftName.declared(property), SwiftName.isFree(property) else {
        text +=
          "\n  // \(SwiftName.inComment(property)): read and write it by value(forKey:) and setValue(_:forKey:).\n"
        return false
      }
      text += "\n  \(access)var \(declared): \(type) {\n"
      text += Accessors.lines(of: property).map { "    \($0)\n" }.joined()
      text += "  }\n"
      constants.append(Accessors.declaration(for: property, type))
      return true
    }
    for member in members {
      for attribute in member.attributes { _ = declare(attribute.name, type(of: attribute)) }
      for relationship in member.relationships where declare(relationship.name, type(of: relationship)) {
        if relationship.isToMany { collections.append(relationship) }
      }
      for property in member.fetchedProperties {
        _ = declare(property.name, "[\(destination(property.request?.entityName))]?")
      }
    }
    if !constants.isEmpty { text += "\n" + constants.map { "  \($0)\n" }.joined() }
    text += "}\n"
    for relationship in collections { text += methods(of: relationship, name) }
    if superclass == "NSManagedObject" { text += "\nextension \(name): Identifiable {}\n" }
    return text
  }

  // MARK: Types

  private func type(of attribute: AttributeDocument) -> String {
    if attribute.usesScalarValueType, let scalar = Self.scalars[attribute.kind] { return scalar }
    let type =
      switch attribute.kind {
      case .transformable, .undefined: SwiftName.bare(attribute.valueClassName).map(transformed) ?? "NSObject"
      default: Self.objects[attribute.kind] ?? "NSObject"
      }
    return options.isStrict && !attribute.isOptional ? type : type + "?"
  }

  private static let scalars: [AttributeKind: String] = [
    .integer16: "Int16", .integer32: "Int32", .integer64: "Int64", .double: "Double", .float: "Float", .boolean: "Bool",
    .date: "TimeInterval",
  ]

  private static let objects: [AttributeKind: String] = [
    .integer16: "NSNumber", .integer32: "NSNumber", .integer64: "NSNumber", .double: "NSNumber", .float: "NSNumber",
    .boolean: "NSNumber", .decimal: "NSDecimalNumber", .string: "String", .date: "Date", .binaryData: "Data",
    .uuid: "UUID", .uri: "URL", .objectID: "NSManagedObjectID", .composite: "[String: Any]",
  ]

  /// Returns the class of a transformable attribute's values, which the model may spell as a Swift type.
  private func transformed(_ name: String) -> String {
    if let known = options.swiftNames[name] { return known }
    let type = name.hasSuffix("?") ? String(name.dropLast()) : name
    return SwiftName.isType(type) ? type : "NSObject"
  }

  private func type(of relationship: RelationshipDocument) -> String {
    if relationship.isToMany { return relationship.isOrdered ? "NSOrderedSet?" : "NSSet?" }
    return destination(relationship.destinationEntityName) + (options.isStrict && !relationship.isOptional ? "" : "?")
  }

  /// Returns the class of an entity's objects as a type.
  private func destination(_ entityName: String?) -> String {
    guard let entity = entityName.flatMap({ index[$0] }) else { return "NSManagedObject" }
    for ancestor in index.lineage(of: entity.name) {
      if let name = swiftName(of: ancestor), let declared = SwiftName.declared(name), SwiftName.isFree(name) {
        return declared
      }
    }
    return "NSManagedObject"
  }

  // MARK: Members of to-many relationships

  private func methods(of relationship: RelationshipDocument, _ name: String) -> String {
    let title = SwiftName.capitalized(relationship.name)
    let type = destination(relationship.destinationEntityName)
    let set = relationship.isOrdered ? "NSOrderedSet" : "NSSet"
    let constant = "Self." + Accessors.constant(for: relationship.name)
    var methods: [String] = []
    func method(_ signature: String, _ call: String) {
      methods.append("  \(access)func \(signature) { \(constant).\(call) }\n")
    }
    if relationship.isOrdered {
      method("insertInto\(title)(_ value: \(type), at idx: Int)", "insert(value, at: idx, in: self)")
      method("removeFrom\(title)(at idx: Int)", "remove(at: idx, from: self)")
      method("insertInto\(title)(_ values: [\(type)], at indexes: NSIndexSet)", "insert(values, at: indexes, in: self)")
      method("removeFrom\(title)(at indexes: NSIndexSet)", "remove(at: indexes, from: self)")
      method("replace\(title)(at idx: Int, with value: \(type))", "replace(at: idx, with: value, in: self)")
      method(
        "replace\(title)(at indexes: NSIndexSet, with values: [\(type)])",
        "replace(at: indexes, with: values, in: self)")
    }
    method("addTo\(title)(_ value: \(type))", "add(value, to: self)")
    method("removeFrom\(title)(_ value: \(type))", "remove(value, from: self)")
    method("addTo\(title)(_ values: \(set))", "add(values, to: self)")
    method("removeFrom\(title)(_ values: \(set))", "remove(values, from: self)")
    // Without Objective-C, an array literal cannot be an `NSSet`.
    method("addTo\(title)(_ values: [\(type)])", "add(values, to: self)")
    method("removeFrom\(title)(_ values: [\(type)])", "remove(values, from: self)")
    return "\n// MARK: Generated accessors for \(SwiftName.inComment(relationship.name))\nextension \(name) {\n"
      + methods.joined(separator: "\n") + "}\n"
  }
}
