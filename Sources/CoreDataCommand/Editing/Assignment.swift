// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataFileSystem
import CoreDataTerminal
import Foundation

/// An argument that changes a property: `total=12`, `address.city=Rome`, `items+=Item/p1,Item/p2`.
struct Assignment {
  enum Operation {
    case set, add, remove
  }

  /// The property, or the path of a composite attribute's element.
  let path: [String]
  let operation: Operation
  let text: String
  /// Whether the text has no syntax of its own: it is the value itself, whatever it is. A file is never read.
  private let isLiteral: Bool

  /// Creates an assignment of a value as `ValueText` reads it, or of the identifiers of objects.
  ///
  /// - Parameter value: nil for no value.
  init(path: [String], value: String?) {
    (self.path, operation) = (path, .set)
    (text, isLiteral) = (value ?? "null", value != nil)
  }

  /// - Throws: `CommandFailure`.
  init(_ argument: String) throws {
    guard let mark = argument.firstIndex(of: "="), mark > argument.startIndex else {
      throw CommandFailure(.usage, "\(JSONText.string(argument).line()) is not a change. Write it like total=12.")
    }
    var key = argument[..<mark]
    switch key.last {
    case "+": operation = .add
    case "-": operation = .remove
    default: operation = .set
    }
    if operation != .set { key.removeLast() }
    path = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    text = String(argument[argument.index(after: mark)...])
    isLiteral = false
  }

  /// Changes the property of an object.
  ///
  /// - Throws: `CommandFailure` for an unknown property, a wrong value or an unknown object.
  func apply(to object: NSManagedObject, in store: EditableStore) throws {
    let place = "\(object.entity.name ?? "").\(path.joined(separator: "."))"
    do {
      switch try object.entity.editableProperty(path[0]) {
      case let attribute as NSAttributeDescription:
        guard operation == .set else {
          throw ValueProblem("+= and -= are for to-many relationships, and this is an attribute")
        }
        try set(attribute, of: object)
      case let relationship as NSRelationshipDescription:
        guard path.count == 1 else {
          throw ValueProblem(
            "\(path[0]) is a relationship; to change its object, name that object instead of \(object.shortID)")
        }
        try set(relationship, of: object, in: store)
      default: throw ValueProblem("the property is not stored")
      }
    } catch let problem as ValueProblem {
      throw CommandFailure(.usage, "\(place): \(problem.sentence) Nothing was changed.")
    }
  }

  // MARK: Attributes

  private func set(_ attribute: NSAttributeDescription, of object: NSManagedObject) throws {
    guard path.count > 1 else {
      guard attribute.attributeType != .compositeAttributeType || text == "null" else {
        let elements = (attribute as? NSCompositeAttributeDescription)?.elements.map(\.name) ?? []
        throw ValueProblem(
          "the attribute is composite; set its elements: "
            + elements.map { "\(attribute.name).\($0)" }.joined(separator: ", "))
      }
      return try value(of: attribute).set(attribute, of: object)
    }
    let old = object.value(forKey: attribute.name) as? NSDictionary
    let new = try changed(old, of: attribute, path.dropFirst())
    object.setValue(new.count == 0 ? nil : new, forKey: attribute.name)
  }

  /// Returns the dictionary of a composite attribute with another value for an element.
  private func changed(
    _ old: NSDictionary?, of attribute: NSAttributeDescription, _ path: ArraySlice<String>
  ) throws -> NSDictionary {
    let name = path.first ?? ""
    guard let element = attribute.element(named: name) else {
      let elements = (attribute as? NSCompositeAttributeDescription)?.elements.map(\.name) ?? []
      throw ValueProblem(
        elements.isEmpty
          ? "\(attribute.name) is not composite, and has no elements"
          : "\(attribute.name) has no element \(JSONText.string(name).line()); it has \(elements.joined(separator: ", "))"
      )
    }
    let parts = old?.mutableCopy() as? NSMutableDictionary ?? NSMutableDictionary()
    let rest = path.dropFirst()
    let value: Any? =
      rest.isEmpty
      ? try self.value(of: element).element(of: element)
      : try changed(parts[name as NSString] as? NSDictionary, of: element, rest)
    if let value { parts[name as NSString] = value } else { parts.removeObject(forKey: name as NSString) }
    return parts
  }

  /// Parses the value. `null` removes it, a string in quotation marks is read as JSON, and `@FILE` names a file with
  /// binary data.
  private func value(of attribute: NSAttributeDescription) throws -> AttributeValue {
    if isLiteral { return try ValueText.value(text, of: attribute) }
    if text == "null" { return .null }
    switch attribute.attributeType {
    case .stringAttributeType where text.hasPrefix("\"") && text.hasSuffix("\""):
      // Any other text in quotation marks is the value itself.
      if case .string(let value)? = try? JSONText(parsing: text.utf8) { return .object(value) }
    case .binaryDataAttributeType where text.hasPrefix("@"), .transformableAttributeType where text.hasPrefix("@"):
      let url = URL(fileURLWithPath: String(text.dropFirst()))
      let data: Data
      do {
        data = try RegularFile.read(url, limit: Self.maxFileSize)
      } catch {
        throw ValueProblem("\(url.path) cannot be read: \(CommandFailure(error).message)")
      }
      return attribute.attributeType == .transformableAttributeType ? .storedForm(data) : .object(data)
    default: break
    }
    return try ValueText.value(text, of: attribute)
  }

  /// The maximum size of a file with binary data, in bytes: that of a value in SQLite.
  private static let maxFileSize = 1_000_000_000

  // MARK: Relationships

  private func set(
    _ relationship: NSRelationshipDescription, of object: NSManagedObject, in store: EditableStore
  ) throws {
    let ids = text == "null" ? [] : text.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) }
    let objects = try ids.map { id in
      let destination = try store.object(id)
      try relationship.check(destination)
      return destination
    }
    guard relationship.isToMany else {
      guard operation == .set else {
        throw ValueProblem("+= and -= are for to-many relationships, and this one has one object")
      }
      guard objects.count <= 1 else {
        throw ValueProblem("the relationship has one object, and \(objects.count) are named")
      }
      guard !objects.isEmpty || text == "null" else { throw ValueProblem("name an object, or null") }
      return object.setValue(objects.first, forKey: relationship.name)
    }
    var members = operation == .set ? [] : object.members(of: relationship)
    switch operation {
    case .set, .add: for destination in objects where !members.contains(destination) { members.append(destination) }
    case .remove:
      for destination in objects {
        guard let index = members.firstIndex(of: destination) else {
          throw ValueProblem("\(destination.shortID) is not one of the objects")
        }
        members.remove(at: index)
      }
    }
    object.set(members, of: relationship)
  }
}

extension NSManagedObject {
  /// Sets the destinations of a to-many relationship.
  func set(_ members: [NSManagedObject], of relationship: NSRelationshipDescription) {
    setValue(relationship.isOrdered ? NSOrderedSet(array: members) : NSSet(array: members), forKey: relationship.name)
  }
}

extension NSRelationshipDescription {
  /// - Throws: `ValueProblem` for an object that cannot be a destination.
  func check(_ object: NSManagedObject) throws {
    guard let name = destinationEntity?.name, !object.entity.isKind(of: name) else { return }
    throw ValueProblem("\(object.shortID) is not a \(name), which the relationship leads to")
  }
}

extension NSEntityDescription {
  /// Returns a property that a command can set.
  ///
  /// - Throws: `ValueProblem` for an unknown name, and for a property that is not stored, or that a save computes.
  func editableProperty(_ name: String) throws -> NSPropertyDescription {
    guard let property = propertiesByName[name] else {
      let names = propertiesByName.filter { $0.value.isStored }.keys.sorted()
      let likely = Likeness.nearest(to: name, among: names).map { "; did you mean \($0)?" }
      throw ValueProblem(
        "\(self.name ?? "") has no property \(JSONText.string(name).line())"
          + (likely ?? "; it has \(names.joined(separator: ", "))"))
    }
    if property is NSDerivedAttributeDescription {
      throw ValueProblem("the attribute is derived from others, and computed by every save")
    }
    guard property.isStored else { throw ValueProblem("the property is not stored") }
    return property
  }
}

extension NSPropertyDescription {
  var isStored: Bool { !isTransient && !(self is NSFetchedPropertyDescription) }
}
