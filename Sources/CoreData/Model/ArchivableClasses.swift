// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The classes of the program whose objects keyed archives may hold, beside Foundation's plain classes.
enum ArchivableClasses {
  /// Those that support secure coding.
  case secure
  /// All that can be archived.
  case any
  /// Those of a list, and what is below them; and others that support secure coding within their objects.
  case listed([AnyClass])

  /// The class of that name, where its objects are allowed.
  func type(named name: String) -> (any NSCoding.Type)? {
    guard let found = Self.find(name), !String(reflecting: found).hasPrefix("Foundation.") else { return nil }
    if let secure = found as? any NSSecureCoding.Type, secure.supportsSecureCoding {
      if case .listed(let list) = self, list.isEmpty { return nil }
      return secure
    }
    if case .any = self { return found as? any NSCoding.Type }
    return nil
  }

  /// Looks a class up. Foundation stops the program for a name that is none.
  private static func find(_ name: String) -> AnyClass? {
    if let known = NSKeyedUnarchiver.class(forClassName: name) { return known }
    let parts = name.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, name.allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" || $0 == "." }) else {
      return nil
    }
    return NSClassFromString(name)
  }

  /// Why an object of a class is not archived.
  func refusal(of name: String) -> String {
    switch self {
    case .secure:
      "\(name) does not support secure coding, or is not declared at the top level of a module. Let it conform to "
        + "NSSecureCoding"
    case .any: "\(name) does not conform to NSCoding, or is not declared at the top level of a module"
    case .listed:
      "\(name) is not among the classes that its transformer allows. Register a subclass of "
        + "NSSecureUnarchiveFromDataTransformer that has it in allowedTopLevelClasses"
    }
  }

  var type: (String) -> (any NSCoding.Type)? { { type(named: $0) } }
}
