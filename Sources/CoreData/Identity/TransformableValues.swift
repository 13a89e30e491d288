// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The stored form of transformable attributes, made by a value transformer or a keyed archive.
enum TransformableValues {
  /// Decodes a stored form.
  ///
  /// A stored form that cannot be decoded, such as an object of a class that is not allowed, is returned as data, so
  /// that nothing is lost.
  static func decode(_ data: Data, of attribute: NSAttributeDescription) -> NSObject {
    let value =
      switch transformer(of: attribute) {
      // An unarchiving transformer transforms the stored form to the value; any other transforms the value.
      case let unarchiver as NSSecureUnarchiveFromDataTransformer: unarchiver.transformedValue(data)
      case let transformer?: transformer.reverseTransformedValue(data)
      // Without an object, the data are returned; see above.
      case nil: try? ObjectArchiveReader.object(in: data, programClasses: classes(of: attribute).type)
      }
    return value.map(boxed) ?? data as NSData
  }

  /// Encodes a value; nil if the attribute's transformer returns nil.
  ///
  /// - Throws: 134060 if neither the attribute's transformer nor secure coding can archive the value.
  static func encode(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Data? {
    let plain = (value as? SwiftValueBox)?.value ?? value
    switch transformer(of: attribute) {
    case let unarchiver as NSSecureUnarchiveFromDataTransformer:
      if let made = unarchiver.reverseTransformedValue(plain) { return try data(made, of: plain, attribute) }
      // The transformer cannot throw the reason; archiving does.
      _ = try archive(plain, attribute, type(of: unarchiver).classes)
      throw notArchivable(plain, attribute, reason: "its transformer returned nil for it")
    case let transformer?:
      guard let made = transformer.transformedValue(plain) else { return nil }
      let data = try data(made, of: plain, attribute)
      // In a statically linked program, Foundation's archiver may return empty data without an error.
      if data.isEmpty, type(of: transformer).allowsReverseTransformation(),
        transformer.reverseTransformedValue(data) == nil
      {
        throw notArchivable(
          plain, attribute, reason: "its transformer returned empty data for it, which it cannot convert back")
      }
      return data
    case nil:
      if let data = value as? NSData { return data as Data }
      return try archive(plain, attribute, classes(of: attribute))
    }
  }

  private static func data(_ made: Any, of value: Any, _ attribute: NSAttributeDescription) throws -> Data {
    if let data = made as? Data { return data }
    throw notArchivable(
      value, attribute, reason: "its transformer returned a \(type(of: made)) for it instead of Data")
  }

  private static func archive(
    _ value: Any, _ attribute: NSAttributeDescription, _ classes: ArchivableClasses
  ) throws -> Data {
    do {
      return try ObjectArchiveWriter.data(of: value, programClasses: classes.type)
    } catch ObjectArchiveWriter.Problem.otherClass(let name) {
      throw notArchivable(value, attribute, reason: classes.refusal(of: name))
    } catch let problem as ObjectArchiveWriter.Problem {
      throw notArchivable(value, attribute, reason: problem.description)
    }
  }

  /// 134060: a value that neither a transformer nor an archive can store.
  private static func notArchivable(_ value: Any, _ attribute: NSAttributeDescription, reason: String) -> NSError {
    let entity = attribute.owningEntity?.name ?? ""
    return .cocoa(
      NSCoreDataError, "The value of a transformable attribute cannot be stored.",
      reason: "A \(type(of: value)) in '\(attribute.name)' of '\(entity)' cannot be archived: \(reason).",
      suggestion: "Give the attribute a value transformer that converts such values to Data.",
      ErrorDetail.place(entity: entity, property: attribute.name))
  }

  private static func transformer(of attribute: NSAttributeDescription) -> ValueTransformer? {
    guard let name = attribute.valueTransformerName, let found = ValueTransformer(forName: .init(name)),
      type(of: found) != NSSecureUnarchiveFromDataTransformer.self
    else { return nil }
    return found
  }

  /// Returns the classes that an attribute without a transformer of the program allows.
  private static func classes(of attribute: NSAttributeDescription) -> ArchivableClasses {
    switch attribute.valueTransformerName.map({ ValueTransformer.Name($0) }) {
    case .secureUnarchiveFromDataTransformerName?: .listed([])
    case .keyedUnarchiveFromDataTransformerName?, .unarchiveFromDataTransformerName?: .any
    default: .secure
    }
  }

  private static func boxed(_ value: Any) -> NSObject {
    (value as? NSObject) ?? SwiftValueBox(value)
  }
}
