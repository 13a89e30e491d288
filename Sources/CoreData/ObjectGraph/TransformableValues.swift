// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// The stored form of transformable attributes: what a value transformer, or else a keyed archive, makes of them.
enum TransformableValues {
  /// Decodes the value of a stored form.
  ///
  /// What cannot be decoded, such as an object of a class that is not one of Foundation's plain classes, comes out as the
  /// stored data, so that nothing is lost and the caller can see what there is. A transformer of the program decodes what
  /// it has made by its own means.
  static func decode(_ data: Data, of attribute: NSAttributeDescription) -> NSObject {
    if let transformer = transformer(of: attribute) {
      // Apple's convention: a transformer's forward direction makes the stored form, its reverse the value.
      if let value = transformer.reverseTransformedValue(data) { return boxed(value) }
      return data as NSData
    }
    // A failure is no error here: the data themselves are the answer, as said above.
    return (try? ObjectArchiveReader.object(in: data)) ?? data as NSData
  }

  /// Encodes a value.
  ///
  /// - Throws: 134060 when the value can be archived neither by the attribute's transformer nor by secure coding.
  static func encode(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Data {
    let plain = (value as? SwiftValueBox)?.value ?? value
    if let transformer = transformer(of: attribute) {
      guard let data = transformer.transformedValue(plain) as? Data else {
        throw ObjectGraphErrors.notArchivable(plain, attribute, reason: "its transformer made no data of it")
      }
      // Foundation's archiver can give no data without an error, where a program is linked statically.
      if data.isEmpty, type(of: transformer).allowsReverseTransformation(),
        transformer.reverseTransformedValue(data) == nil
      {
        throw ObjectGraphErrors.notArchivable(
          plain, attribute, reason: "its transformer made 0 bytes of it, of which it can make no value")
      }
      return data
    }
    if let data = value as? NSData { return data as Data }
    do {
      return try ObjectArchiveWriter.archive(of: plain)
    } catch let problem as ObjectArchiveWriter.Problem {
      throw ObjectGraphErrors.notArchivable(plain, attribute, reason: problem.description)
    }
  }

  private static func transformer(of attribute: NSAttributeDescription) -> ValueTransformer? {
    attribute.valueTransformerName.flatMap { ValueTransformer.valueTransformer(forName: .init($0)) }
  }

  private static func boxed(_ value: Any) -> NSObject {
    (value as? NSObject) ?? SwiftValueBox(value)
  }
}
