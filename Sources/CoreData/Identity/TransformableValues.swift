// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The stored form of transformable attributes: what a value transformer, or else a keyed archive, makes of them.
enum TransformableValues {
  /// Decodes the value of a stored form.
  ///
  /// What cannot be decoded, such as an object of a class that is not allowed, comes out as the stored data, so that nothing
  /// is lost and the caller can see what there is. A transformer of the program decodes what it has made by its own means.
  static func decode(_ data: Data, of attribute: NSAttributeDescription) -> NSObject {
    let value =
      switch transformer(of: attribute) {
      // A transformer that unarchives makes the value of the stored form; any other makes the stored form of the value.
      case let unarchiver as NSSecureUnarchiveFromDataTransformer: unarchiver.transformedValue(data)
      case let transformer?: transformer.reverseTransformedValue(data)
      // A failure is no error here: the data themselves are the answer, as said above.
      case nil: try? ObjectArchiveReader.object(in: data, programClasses: classes(of: attribute).type)
      }
    return value.map(boxed) ?? data as NSData
  }

  /// Encodes a value; nil where the attribute's transformer makes nil of it.
  ///
  /// - Throws: 134060 when the value can be archived neither by the attribute's transformer nor by secure coding.
  static func encode(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Data? {
    let plain = (value as? SwiftValueBox)?.value ?? value
    switch transformer(of: attribute) {
    case let unarchiver as NSSecureUnarchiveFromDataTransformer:
      if let made = unarchiver.reverseTransformedValue(plain) { return try data(made, of: plain, attribute) }
      // The transformer cannot say why.
      _ = try archive(plain, attribute, type(of: unarchiver).classes)
      throw notArchivable(plain, attribute, reason: "its transformer made nothing of it")
    case let transformer?:
      guard let made = transformer.transformedValue(plain) else { return nil }
      let data = try data(made, of: plain, attribute)
      // Foundation's archiver can give no data without an error, where a program is linked statically.
      if data.isEmpty, type(of: transformer).allowsReverseTransformation(),
        transformer.reverseTransformedValue(data) == nil
      {
        throw notArchivable(
          plain, attribute, reason: "its transformer made 0 bytes of it, of which it can make no value")
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
      value, attribute, reason: "its transformer made a \(type(of: made)) of it, and not Data")
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

  /// 134060: a value that no transformer or archive takes.
  private static func notArchivable(_ value: Any, _ attribute: NSAttributeDescription, reason: String) -> NSError {
    let entity = attribute.owningEntity?.name ?? ""
    return .cocoa(
      NSCoreDataError, "The value of a transformable attribute cannot be stored.",
      reason: "A \(type(of: value)) in '\(attribute.name)' of '\(entity)' cannot be archived: \(reason).",
      suggestion: "Give the attribute a value transformer that makes Data of such values.",
      ErrorDetail.place(entity: entity, property: attribute.name))
  }

  private static func transformer(of attribute: NSAttributeDescription) -> ValueTransformer? {
    guard let name = attribute.valueTransformerName, let found = ValueTransformer(forName: .init(name)),
      type(of: found) != NSSecureUnarchiveFromDataTransformer.self
    else { return nil }
    return found
  }

  /// The classes of an attribute without a transformer of its own.
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
