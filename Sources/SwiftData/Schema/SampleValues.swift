// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

extension Schema.Attribute {
  /// Returns a value for a sample row, in its stored form, that the attribute's type can read; nil if any value of the
  /// attribute's type in Core Data will do.
  ///
  /// - Parameters:
  ///   - number: a number by which values differ where possible.
  ///   - row: the number of the row, by which the case of an enum is chosen.
  ///   - leaf: returns a value for a part of a struct, by the part's attribute type; nil to keep the probed one.
  /// - Throws: an error if only the app can make a value.
  package func sampleStored(_ number: Int, row: Int, leaf: (NSAttributeType) -> Any?) throws -> Any? {
    let type = (valueType as? any OptionalValue.Type)?.wrapped ?? valueType
    switch try shape.shape.get() {
    case .plain:
      // Core Data's types are wider than these.
      return type is any NarrowInteger.Type ? NSNumber(value: number % 100) : nil
    case .transformable:
      return defaultValue
    case .array, .json, .composite:
      guard let codable = type as? any Codable.Type else { return nil }
      let stored = try ValueCoding(try shape.shape.get(), property: name).sample(of: codable, row)
      guard case .composite(let elements) = try shape.shape.get(), let parts = stored as? NSDictionary,
        EnumCases(of: type) == nil, elements.first?.name.isEmpty == false
      else { return stored }
      return Self.filled(parts, elements, leaf)
    }
  }

  /// Gives the plain parts of a struct other values than the probe's, which are all alike.
  private static func filled(
    _ parts: NSDictionary, _ elements: [ValueShape.Element], _ leaf: (NSAttributeType) -> Any?
  ) -> NSDictionary {
    var values = parts as? [String: Any] ?? [:]
    for element in elements where values[element.name] != nil {
      guard case .plain(let type) = element.shape, let type = NSAttributeType(rawValue: type) else { continue }
      // An Integer 16 or 32 may be a narrower type.
      guard type != .integer16AttributeType, type != .integer32AttributeType else { continue }
      if let value = leaf(type) { values[element.name] = value }
    }
    return values as NSDictionary
  }
}

extension ValueCoding {
  fileprivate func sample<Value: Codable>(of type: Value.Type, _ row: Int) throws -> Any {
    try encode(EnumCases.nth(row, of: type) ?? ShapeProbe.sample(type))
  }
}

/// An integer type that has fewer bits than its attribute type.
private protocol NarrowInteger {}
extension Int8: NarrowInteger {}
extension UInt8: NarrowInteger {}
extension UInt16: NarrowInteger {}
extension UInt32: NarrowInteger {}
