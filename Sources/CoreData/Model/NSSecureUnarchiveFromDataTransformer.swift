// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A transformer between objects of certain classes and their keyed archives.
///
/// For a transformable attribute with values of a custom class, register a subclass:
///
///     final class ColorTransformer: NSSecureUnarchiveFromDataTransformer {
///       override class var allowedTopLevelClasses: [AnyClass] { [Color.self] }
///     }
///     ValueTransformer.setValueTransformer(ColorTransformer(), forName: .init("ColorTransformer"))
///
/// The custom class must conform to `NSSecureCoding`. Foundation on Linux lacks this transformer. This one has Apple's
/// name and behavior.
open class NSSecureUnarchiveFromDataTransformer: ValueTransformer {
  /// The classes allowed for the top-level object of an archive; by default Foundation's plain ones.
  open class var allowedTopLevelClasses: [AnyClass] {
    [
      NSArray.self, NSDictionary.self, NSSet.self, NSOrderedSet.self, NSString.self, NSNumber.self, NSDate.self,
      NSData.self, NSURL.self, NSUUID.self, NSNull.self,
    ]
  }

  open override class func transformedValueClass() -> AnyClass {
    allowedTopLevelClasses.count == 1 ? allowedTopLevelClasses[0] : NSObject.self
  }

  /// Returns the object in an archive; nil if the archive is unreadable or its object is of another class.
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
    return try? Self.classes.archive(object)
  }

  private class func allows(_ object: NSObject) -> Bool {
    allowedTopLevelClasses.contains { object.isKind(of: $0) }
  }

  /// The custom classes among the allowed ones.
  class var classes: ArchivableClasses {
    .listed(allowedTopLevelClasses.filter { !String(reflecting: $0).hasPrefix("Foundation.") })
  }
}

/// A transformer for archives of objects of any class that conforms to `NSCoding`.
final class AnyUnarchiveFromDataTransformer: ValueTransformer {
  override func transformedValue(_ value: Any?) -> Any? {
    // This method cannot throw, so an unreadable archive has no object.
    (value as? Data).flatMap { try? ObjectArchiveReader.object(in: $0, programClasses: ArchivableClasses.any.type) }
  }

  override func reverseTransformedValue(_ value: Any?) -> Any? {
    // This method cannot throw, so a value that cannot be archived has no archive.
    value.flatMap { try? ArchivableClasses.any.archive($0) }
  }
}

extension ValueTransformer.Name {
  /// The transformer for archives of Foundation's plain classes.
  public static let secureUnarchiveFromDataTransformerName = Self("NSSecureUnarchiveFromData")
  /// The transformer for archives of any class that conforms to `NSCoding`. An untrusted archive can instantiate any
  /// such class of the program; prefer a subclass of `NSSecureUnarchiveFromDataTransformer`.
  public static let keyedUnarchiveFromDataTransformerName = Self("NSKeyedUnarchiveFromData")
  /// An older name of `keyedUnarchiveFromDataTransformerName`.
  public static let unarchiveFromDataTransformerName = Self("NSUnarchiveFromData")
}

/// The custom classes whose objects a keyed archive may contain, in addition to Foundation's plain classes.
enum ArchivableClasses {
  /// All classes that support secure coding.
  case secure
  /// All classes that conform to `NSCoding`.
  case any
  /// The listed classes and their subclasses at the top level, and, nested in them, all that support secure coding.
  case listed([AnyClass])

  /// Returns the class with a name if its objects are allowed.
  func type(named name: String) -> (any NSCoding.Type)? {
    guard let found = Self.find(name), !String(reflecting: found).hasPrefix("Foundation.") else { return nil }
    if let secure = found as? any NSSecureCoding.Type, secure.supportsSecureCoding {
      if case .listed(let list) = self, list.isEmpty { return nil }
      return secure
    }
    if case .any = self { return found as? any NSCoding.Type }
    return nil
  }

  /// Looks up a class. Checks the name first, because Foundation traps for an invalid one.
  private static func find(_ name: String) -> AnyClass? {
    if let known = NSKeyedUnarchiver.class(forClassName: name) { return known }
    if let known = ProgramClasses.objectiveC(name) { return known }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }) else {
      return nil
    }
    return NSClassFromString(name)
  }

  /// Returns the reason why objects of a class are rejected.
  func refusal(of name: String) -> String {
    switch self {
    case .secure:
      "\(name) does not support secure coding, or is not declared at the top level of a module. Conform it to "
        + "NSSecureCoding"
    case .any: "\(name) does not conform to NSCoding, or is not declared at the top level of a module"
    case .listed:
      "\(name) is not among the classes that its transformer allows. Register a subclass of "
        + "NSSecureUnarchiveFromDataTransformer that has it in allowedTopLevelClasses"
    }
  }

  /// Archives a value. Objects of custom classes get the names by which Apple's systems find the classes.
  ///
  /// - Throws: `ObjectArchiveWriter.Problem`.
  func archive(_ value: Any) throws -> Data {
    try ObjectArchiveWriter.data(of: value, programClasses: type, codedName: ProgramClasses.objectiveCName)
  }

  var type: (String) -> (any NSCoding.Type)? { { type(named: $0) } }
}
