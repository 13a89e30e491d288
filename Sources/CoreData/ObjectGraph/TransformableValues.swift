// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The stored form of transformable attributes: what a value transformer, or else secure keyed archiving, makes of them.
enum TransformableValues {
  /// The value of a stored form.
  ///
  /// What cannot be decoded on this system (a class that does not exist here, say) is handed out as the stored data, so
  /// that nothing is lost and the caller can see what there is.
  static func decode(_ data: Data, of attribute: NSAttributeDescription) -> NSObject {
    if let transformer = attribute.valueTransformerName.flatMap({
      ValueTransformer.valueTransformer(forName: .init($0))
    }) {
      // Apple's convention: a transformer's forward direction makes the stored form, its reverse the value.
      if let value = transformer.reverseTransformedValue(data) { return boxed(value) }
      return data as NSData
    }
    // A failure is no error here: the data themselves are the answer, as said above.
    let value = try? NSKeyedUnarchiver.unarchivedObject(ofClasses: plainClasses, from: data)
    return value.map { boxed($0) } ?? data as NSData
  }

  /// The stored form of a value.
  ///
  /// - Throws: 134060 when the value can be archived neither by the attribute's transformer nor by secure coding.
  static func encode(_ value: NSObject, of attribute: NSAttributeDescription) throws -> Data {
    let plain = (value as? SwiftValueBox)?.value ?? value
    if let transformer = attribute.valueTransformerName.flatMap({
      ValueTransformer.valueTransformer(forName: .init($0))
    }) {
      if let data = transformer.transformedValue(plain) as? Data { return data }
      throw ObjectGraphErrors.notArchivable(plain, attribute, reason: "its transformer made no data of it")
    }
    if let data = value as? NSData { return data as Data }
    do {
      return try NSKeyedArchiver.archivedData(withRootObject: plain, requiringSecureCoding: true)
    } catch {
      throw ObjectGraphErrors.notArchivable(plain, attribute, reason: "\(error)")
    }
  }

  private static let plainClasses: [AnyClass] = [
    NSArray.self, NSDictionary.self, NSString.self, NSNumber.self, NSDate.self, NSData.self, NSURL.self, NSUUID.self,
    NSSet.self, NSOrderedSet.self, NSNull.self, NSAttributedString.self,
  ]

  private static func boxed(_ value: Any) -> NSObject {
    (value as? NSObject) ?? SwiftValueBox(value)
  }
}
