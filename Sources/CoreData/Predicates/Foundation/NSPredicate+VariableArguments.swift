// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CSwiftRuntime
import CoreDataPredicates
import Foundation

extension FormattedPredicate where Self: NSPredicate {
  /// Creates a predicate from a format string and variable arguments, as created by `withVaList(_:_:)`. Traps if the
  /// format cannot be parsed.
  ///
  /// - Parameters:
  ///   - predicateFormat: the predicate, in Apple's Predicate Format String Syntax.
  ///   - argList: the values of `%@`, `%K`, `%d` … in order. Each must have the type specified by its placeholder: an
  ///     object for `%@` and `%K`.
  public init(format predicateFormat: String, arguments argList: CVaListPointer) {
    let placeholders = Misuse.stop { try PredicateParser.placeholders(in: predicateFormat) }
    self.init(format: predicateFormat, argumentArray: VariableArguments.values(in: argList, for: placeholders))
  }
}

/// Reads variable arguments according to the placeholders of a format.
private enum VariableArguments {
  static func values(in list: CVaListPointer, for placeholders: [String]) -> [Any] {
    let kinds = placeholders.map(kind).joined()
    var read = Array(repeating: opencoredata_argument(), count: placeholders.count + 1)
    opencoredata_read_arguments(list, kinds, &read)
    return zip(placeholders, read).map(value)
  }

  private static func kind(of placeholder: String) -> String {
    switch placeholder {
    case "@", "K", "s", "S": "p"
    case "f", "g", "e", "lf": "d"
    case "D", "U": "l"
    case let name where name.hasPrefix("l") || name.hasPrefix("q") || name.hasPrefix("z"): "l"
    default: "i"
    }
  }

  private static func value(of placeholder: String, _ argument: opencoredata_argument) -> Any {
    switch kind(of: placeholder) {
    case "d": return NSNumber(value: argument.real)
    case "l": return NSNumber(value: argument.integer)
    case "i":
      let isUnsigned = ["u", "x", "X", "o", "hu"].contains(placeholder)
      return NSNumber(value: isUnsigned ? argument.integer & 0xFFFF_FFFF : argument.integer)
    default:
      guard let pointer = argument.pointer else { return NSNull() }
      if placeholder == "s" { return String(cString: pointer.assumingMemoryBound(to: CChar.self)) }
      if placeholder == "S" {
        return String(decodingCString: pointer.assumingMemoryBound(to: UInt16.self), as: UTF16.self)
      }
      let object = Unmanaged<AnyObject>.fromOpaque(pointer).takeUnretainedValue()
      return (object as? NSString).map { String(describing: $0) } ?? object
    }
  }
}
