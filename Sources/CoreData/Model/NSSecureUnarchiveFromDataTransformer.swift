// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A transformer that makes objects of keyed archives, and keyed archives of objects, for a list of classes.
///
/// A transformable attribute whose objects are of a class of the program names a subclass:
///
///     final class ColorTransformer: NSSecureUnarchiveFromDataTransformer, @unchecked Sendable {
///       override class var allowedTopLevelClasses: [AnyClass] { [Color.self] }
///     }
///     ValueTransformer.setValueTransformer(ColorTransformer(), forName: .init("ColorTransformer"))
///
/// The class conforms to `NSSecureCoding`. Foundation off Apple's systems has no such transformer; this one carries Apple's
/// name and meaning.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer, @unchecked Sendable {
  /// The classes that the object at the top of an archive may have; Foundation's plain ones unless overridden.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSOrderedSet.self, NSString.self, NSNumber.self, NSDate.self,
      NSData.self, NSURL.self, NSUUID.self, NSNull.self,
    ]
  }

  open override class func transformedValueClass() -> AnyClass {
    allowedTopLevelClasses.count == 1 ? allowedTopLevelClasses[0] : NSObject.self
  }

  /// The object of an archive; nil where the archive cannot be read, or holds an object of another class.
  open override func transformedValue(_ value: Any?) -> Any? {
    // An archive that cannot be read has no object, and this method no way to throw.
    guard let data = value as? Data,
      let object = try? ObjectArchiveReader.object(in: data, programClasses: Self.classes.type)
    else { return nil }
    return Self.allows(object) ? object : nil
  }

  /// The archive of an object; nil where the object is of another class, or cannot be archived.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let value, let object = value as? NSObject, Self.allows(object) else { return nil }
    // As above: what is wrong is told by the save that asks.
    return try? ObjectArchiveWriter.data(of: object, programClasses: Self.classes.type)
  }

  private class func allows(_ object: NSObject) -> Bool {
    allowedTopLevelClasses.contains { object.isKind(of: $0) }
  }

  /// The classes of the program among the allowed ones.
  class var classes: ArchivableClasses {
    .listed(allowedTopLevelClasses.filter { !String(reflecting: $0).hasPrefix("Foundation.") })
  }
}

extension ValueTransformer.Name {
  /// The transformer for archives of Foundation's plain classes.
  public static let secureUnarchiveFromDataTransformerName = Self("NSSecureUnarchiveFromData")
  /// Archives of any class that conforms to `NSCoding`. An archive that somebody else has made can have any object of the
  /// program made; prefer a subclass of `NSSecureUnarchiveFromDataTransformer`.
  public static let keyedUnarchiveFromDataTransformerName = Self("NSKeyedUnarchiveFromData")
  /// As `keyedUnarchiveFromDataTransformerName`, under an older name.
  public static let unarchiveFromDataTransformerName = Self("NSUnarchiveFromData")
}
