// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A transformer between objects of certain classes and their keyed archives.
///
/// For a transformable attribute with values of one of the program's classes, register a subclass:
///
///     final class ColorTransformer: NSSecureUnarchiveFromDataTransformer, @unchecked Sendable {
///       override class var allowedTopLevelClasses: [AnyClass] { [Color.self] }
///     }
///     ValueTransformer.setValueTransformer(ColorTransformer(), forName: .init("ColorTransformer"))
///
/// The program's class must conform to `NSSecureCoding`. Foundation on Linux lacks this transformer; ours has Apple's
/// name and behavior.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer, @unchecked Sendable {
  /// The classes that the top-level object of an archive may have; by default Foundation's plain ones.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSOrderedSet.self, NSString.self, NSNumber.self, NSDate.self,
      NSData.self, NSURL.self, NSUUID.self, NSNull.self,
    ]
  }

  open override class func transformedValueClass() -> AnyClass {
    allowedTopLevelClasses.count == 1 ? allowedTopLevelClasses[0] : NSObject.self
  }

  /// Returns the object of an archive; nil if the archive cannot be read or its object is of another class.
  open override func transformedValue(_ value: Any?) -> Any? {
    // This method cannot throw, so an unreadable archive has no object.
    guard let data = value as? Data,
      let object = try? ObjectArchiveReader.object(in: data, programClasses: Self.classes.type)
    else { return nil }
    return Self.allows(object) ? object : nil
  }

  /// Returns the archive of an object; nil if the object is of another class or cannot be archived.
  open override func reverseTransformedValue(_ value: Any?) -> Any? {
    guard let value, let object = value as? NSObject, Self.allows(object) else { return nil }
    // This method cannot throw; the save reports the error.
    return try? ObjectArchiveWriter.data(of: object, programClasses: Self.classes.type)
  }

  private class func allows(_ object: NSObject) -> Bool {
    allowedTopLevelClasses.contains { object.isKind(of: $0) }
  }

  /// The program's own classes among the allowed ones.
  class var classes: ArchivableClasses {
    .listed(allowedTopLevelClasses.filter { !String(reflecting: $0).hasPrefix("Foundation.") })
  }
}

extension ValueTransformer.Name {
  /// The transformer of archives of Foundation's plain classes.
  public static let secureUnarchiveFromDataTransformerName = Self("NSSecureUnarchiveFromData")
  /// The transformer of archives of any class that conforms to `NSCoding`. An archive from elsewhere can instantiate
  /// any such class of the program; prefer a subclass of `NSSecureUnarchiveFromDataTransformer`.
  public static let keyedUnarchiveFromDataTransformerName = Self("NSKeyedUnarchiveFromData")
  /// An older name of `keyedUnarchiveFromDataTransformerName`.
  public static let unarchiveFromDataTransformerName = Self("NSUnarchiveFromData")
}
