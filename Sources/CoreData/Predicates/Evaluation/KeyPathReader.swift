// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Reads key paths of dictionaries, collections and `KeyValueReading` objects.
enum KeyPathReader {
  static func value(_ path: String, of object: Any?) throws -> Any? {
    try value(path.split(separator: ".").map(String.init)[...], of: object)
  }

  private static func value(_ path: ArraySlice<String>, of object: Any?) throws -> Any? {
    guard let key = path.first, let object = Operand.unwrapped(object) else { return Operand.unwrapped(object) }
    let rest = path.dropFirst()
    if key.hasPrefix("@") { return try collectionOperator(key, rest, object) }
    guard let elements = Operand.elements(object) else {
      return try value(rest, of: try value(key, ofSingle: object))
    }
    if let last = path.last, last.hasPrefix("@"), !path.dropLast().contains(where: { $0.hasPrefix("@") }) {
      // `items.price.@sum` adds up all prices, so equal ones must not be merged in a set.
      return try collectionOperator(last, [], allValues(path.dropLast(), of: elements))
    }
    // As in Foundation, the values of the elements, in an array or a set like the collection itself.
    let values = try elements.map { try value(path, of: $0) }
    if Operand.isSet(object) { return NSSet(array: values.compactMap { $0 }) }
    return values.map { $0 ?? NSNull() }
  }

  /// Returns all values of a path without operators, flattening the collections that it leads through.
  private static func allValues(_ path: ArraySlice<String>, of object: Any?) throws -> [Any] {
    guard let object = Operand.unwrapped(object) else { return [] }
    if let elements = Operand.elements(object) { return try elements.flatMap { try allValues(path, of: $0) } }
    guard let key = path.first else { return [object] }
    return try allValues(path.dropFirst(), of: value(key, ofSingle: object))
  }

  private static func value(_ key: String, ofSingle object: Any) throws -> Any? {
    if key == "self" { return object }
    switch object {
    case let reading as any KeyValueReading: return try reading.value(forKeyPathComponent: key)
    case let dictionary as [String: Any]: return dictionary[key]
    case let dictionary as NSDictionary: return dictionary.object(forKey: key)
    case let dictionary as [AnyHashable: Any]: return dictionary[key]
    case let text as String:
      switch key {
      case "length": return text.utf16.count
      case "lowercaseString": return text.lowercased()
      case "uppercaseString": return text.uppercased()
      case "description": return text
      default: break
      }
    case let data as Data where key == "length": return data.count
    default: break
    }
    throw EvaluationError.unknownKey(key, object: Operand.description(object))
  }

  private static func collectionOperator(
    _ name: String, _ rest: ArraySlice<String>, _ object: Any
  ) throws -> Any? {
    guard let elements = Operand.elements(object) else {
      throw EvaluationError.wrongType(name, value: Operand.description(object), expected: "a collection")
    }
    if name == "@count" { return elements.count }
    let values = try elements.compactMap { try value(rest, of: $0) }
    switch name {
    case "@sum": return try Aggregates.sum(values)
    case "@avg": return try Aggregates.average(values)
    case "@min": return try Aggregates.extreme(values, .orderedAscending)
    case "@max": return try Aggregates.extreme(values, .orderedDescending)
    case "@unionOfObjects": return values
    case "@distinctUnionOfObjects": return Aggregates.distinct(values)
    case "@unionOfArrays", "@unionOfSets": return Operand.flattened(values)
    case "@distinctUnionOfArrays", "@distinctUnionOfSets": return Aggregates.distinct(Operand.flattened(values))
    default: throw EvaluationError.unknownFunction(name, operand: "collections")
    }
  }
}

/// An object whose keys an evaluator can read, such as a managed object. Dictionaries and collections need not conform.
protocol KeyValueReading {
  /// Returns the value of one key of a key path; nil for none.
  ///
  /// - Throws: `EvaluationError.unknownKey` or an error of its own for an unknown key.
  func value(forKeyPathComponent key: String) throws -> Any?
}

/// An object that a predicate may compare by its identifier.
protocol ObjectIdentified {
  var objectID: NSManagedObjectID { get }
}

/// An operand of `FUNCTION(operand, "name:", …)`: a migration manager, a policy, a block.
protocol FunctionProviding {
  func callFunction(_ name: String, arguments: [Any?]) throws -> Any?
}

/// The context of `FETCH(request, context, countOnly)`: a managed object context.
protocol FetchEvaluating {
  func evaluateFetch(_ request: Any?, countOnly: Bool) throws -> Any?
}
