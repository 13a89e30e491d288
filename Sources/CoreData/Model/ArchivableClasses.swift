// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The program's classes whose objects a keyed archive may contain, besides Foundation's plain classes.
enum ArchivableClasses {
  /// All that support secure coding.
  case secure
  /// All that conform to `NSCoding`.
  case any
  /// The listed classes and their subclasses at the top level, and within them all that support secure coding.
  case listed([AnyClass])

  /// Returns the class of that name if its objects are allowed.
  func type(named name: String) -> (any NSCoding.Type)? {
    guard let found = Self.find(name), !String(reflecting: found).hasPrefix("Foundation.") else { return nil }
    if let secure = found as? any NSSecureCoding.Type, secure.supportsSecureCoding {
      if case .listed(let list) = self, list.isEmpty { return nil }
      return secure
    }
    if case .any = self { return found as? any NSCoding.Type }
    return nil
  }

  /// Looks a class up. Checks the name first, since Foundation stops the program for an invalid one.
  private static func find(_ name: String) -> AnyClass? {
    if let known = NSKeyedUnarchiver.class(forClassName: name) { return known }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }) else {
      return nil
    }
    return NSClassFromString(name)
  }

  /// Returns why objects of a class are refused.
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

  var type: (String) -> (any NSCoding.Type)? { { type(named: $0) } }
}
