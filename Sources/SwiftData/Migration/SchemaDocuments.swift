// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Schemas as models that are the same in every process, for files and for the tool.
package enum SchemaDocuments {
  /// Returns the versions of a plan, in its order, named by their numbers.
  ///
  /// - Throws: the problem of a schema that cannot be stored.
  package static func versions(of plan: any SchemaMigrationPlan.Type) throws -> [ModelBundle.Version] {
    try plan.schemas.map { try version($0) }
  }

  /// Returns the version of a schema, named by its number.
  ///
  /// - Throws: the problem of a schema that cannot be stored.
  package static func version(_ type: any VersionedSchema.Type) throws -> ModelBundle.Version {
    let document = try document("\(type)") { Schema(versionedSchema: type) }
    return ModelBundle.Version(type.versionIdentifier.description, document)
  }

  /// Returns the model of a schema, which is made twice to find initial values that are never the same.
  package static func document(_ name: String, _ make: () -> Schema) throws -> ModelDocument {
    let schema = make()
    if let issue = schema.issue { throw issue }
    guard let model = NSManagedObjectModel.makeManagedObjectModel(for: schema),
      let other = NSManagedObjectModel.makeManagedObjectModel(for: make())
    else {
      throw SwiftDataError(
        .loadIssueModelContainer,
        "The schema \(name) has an initial value that cannot be stored: a container with it says which.")
    }
    return SteadyValues(schema, model.document).document(unlike: other.document)
  }
}

/// A model whose default values are the same whenever it is made.
private struct SteadyValues {
  private let model: ModelDocument
  /// The names of the attributes that hold sets, by the name of the entity.
  private let sets: [String: Set<String>]

  init(_ schema: Schema, _ model: ModelDocument) {
    self.model = model
    let sets = schema.entities.map { entity in
      (entity.name, entity.attributes.filter { Self.isSet($0.valueType) }.map(\.name))
    }
    self.sets = Dictionary(sets.map { ($0, Set($1)) }, uniquingKeysWith: { $0.union($1) })
  }

  private static func isSet(_ type: Any.Type) -> Bool {
    ((type as? any OptionalValue.Type)?.wrapped ?? type) is any SetValue.Type
  }

  /// Returns the model with fixed values in place of those that are different in a second model of the same schema.
  func document(unlike other: ModelDocument) -> ModelDocument {
    var result = model
    for (position, entity) in model.entities.enumerated() {
      let twin = other.entities.first { $0.name == entity.name }
      result.entities[position].attributes = entity.attributes.map { attribute in
        steady(
          attribute, twin?.attributes.first { $0.name == attribute.name },
          isSet: sets[entity.name]?.contains(attribute.name) == true)
      }
    }
    return result
  }

  private func steady(
    _ attribute: AttributeDocument, _ other: AttributeDocument?, isSet: Bool = false
  ) -> AttributeDocument {
    var attribute = attribute
    attribute.elements = attribute.elements.map { element in
      steady(element, other?.elements.first { $0.name == element.name })
    }
    guard let value = attribute.defaultValue else { return attribute }
    let isSame = other?.defaultValue == value
    switch (attribute.kind, value) {
    case (.date, _): attribute.defaultValue = .date(Date(timeIntervalSinceReferenceDate: 0))
    case (.uuid, _): attribute.defaultValue = .uuid(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
    case (.composite, _):
      // The elements have the parts.
      attribute.defaultValue = nil
    case (.string, _) where !isSame: attribute.defaultValue = .string("")
    case (.binaryData, .data(let data)):
      let data = steady(data, isSet: isSet)
      guard case .data(let twin)? = other?.defaultValue, steady(twin, isSet: isSet) == data else {
        attribute.defaultValue = .data(Data())
        break
      }
      attribute.defaultValue = .data(data)
    case (.transformable, _) where !isSame: attribute.defaultValue = nil
    case (_, .integer) where !isSame: attribute.defaultValue = .integer(0)
    case (_, .real) where !isSame: attribute.defaultValue = .real(0)
    case (_, .decimal) where !isSame: attribute.defaultValue = .decimal(0)
    default: break
    }
    return attribute
  }

  /// Returns JSON in which the keys, and the elements of a set, are in order: theirs is another one for each instance.
  private func steady(_ data: Data, isSet: Bool) -> Data {
    // Data that is no JSON is left as it is.
    guard var json = try? JSONSerialization.jsonObject(with: data) else { return data }
    if isSet, let elements = json as? [Any] {
      json = elements.map { (element: $0, text: text($0)) }.sorted { $0.text < $1.text }.map(\.element)
    }
    return Data(text(json).utf8)
  }

  /// Returns the text of a value that was read from JSON.
  private func text(_ json: Any) -> String {
    let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
    // What was read can be written.
    let data = try? JSONSerialization.data(withJSONObject: json, options: options)
    return data.map { String(decoding: $0, as: UTF8.self) } ?? "null"
  }
}

private protocol SetValue {}
extension Set: SetValue {}
