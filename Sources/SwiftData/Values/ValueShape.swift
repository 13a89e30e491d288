// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

/// The form in which values of a Swift type are stored.
indirect enum ValueShape: Codable, Hashable, Sendable {
  /// A value of an attribute type of Core Data, given by its number.
  case plain(UInt)
  /// An array of plain values, as a keyed archive.
  case array
  /// The JSON text of a `Codable` value.
  case json
  /// What a value transformer makes of a value.
  case transformable(transformer: String, className: String?)
  /// One value for each element: the properties of a `Codable` struct, the raw value of an enum, or the cases of an enum
  /// without raw values.
  case composite([Element])

  /// An element of a composite.
  struct Element: Codable, Hashable, Sendable {
    var name: String
    var isOptional: Bool
    var shape: ValueShape
  }

  static func plain(_ type: NSAttributeType) -> ValueShape { .plain(type.rawValue) }

  /// The type of an attribute with this shape.
  var attributeType: NSAttributeType {
    switch self {
    case .plain(let type): NSAttributeType(rawValue: type) ?? .undefinedAttributeType
    case .array, .transformable: .transformableAttributeType
    case .json: .binaryDataAttributeType
    case .composite: .compositeAttributeType
    }
  }
}

extension ValueShape {
  /// The shape of an attribute's values, or the reason why they cannot be stored.
  struct Result: Hashable {
    var isOptional: Bool
    var shape: Swift.Result<ValueShape, UnstorableType>

    init(isOptional: Bool, shape: Swift.Result<ValueShape, UnstorableType>) {
      (self.isOptional, self.shape) = (isOptional, shape)
    }

    /// Finds the shape of a type.
    ///
    /// - Parameters:
    ///   - type: the declared type of the property.
    ///   - transformer: the name of the value transformer that converts the values; nil if there is none.
    ///   - isWhole: whether a `Codable` type is stored whole.
    init(_ type: Any.Type, transformer: String?, isWhole: Bool) {
      let wrapped = (type as? any OptionalValue.Type)?.wrapped
      isOptional = wrapped != nil
      if let transformer {
        shape = .success(
          .transformable(transformer: transformer, className: ValueShape.className(of: wrapped ?? type)))
      } else {
        shape = Swift.Result { () throws(UnstorableType) in try ValueShape.find(wrapped ?? type, isWhole: isWhole) }
      }
    }
  }

  /// The name by which Core Data knows a class, without its module.
  private static func className(of type: Any.Type) -> String? {
    type is AnyClass ? String(describing: type) : nil
  }

  /// Returns the shape of a type that is not optional.
  ///
  /// - Parameter isWhole: whether a `Codable` type is stored whole.
  static func find(_ type: Any.Type, isWhole: Bool = false) throws(UnstorableType) -> ValueShape {
    if let plain = type as? any PlainStorable.Type { return .plain(plain.attributeType) }
    if let array = type as? any ArrayValue.Type, array.elementType is any PlainStorable.Type { return .array }
    guard let codable = type as? any (Decodable & Encodable).Type else { throw UnstorableType(type: type) }
    if isWhole || type is any UnkeyedValue.Type { return .json }
    return .composite(try ShapeProbe.elements(of: codable))
  }
}

/// A type whose values cannot be stored in an attribute.
struct UnstorableType: Error, Hashable {
  var typeName: String
  /// The part of the type that is the reason; empty for the type itself.
  var path: [String] = []
  /// The type of that part; nil if it is not known.
  private(set) var partTypeName: String?
  /// What is wrong with that part.
  var reason: String

  init(type: Any.Type, path: [String] = [], reason: String = "is not Codable") {
    typeName = String(reflecting: type)
    self.path = path
    self.reason = reason
  }

  /// Returns the error for a part in which this one occurred.
  func inside(_ part: String, of type: Any.Type) -> UnstorableType {
    var outer = self
    if path.isEmpty { outer.partTypeName = typeName }
    outer.path.insert(part, at: 0)
    outer.typeName = String(reflecting: type)
    return outer
  }
}

/// An optional, without the type of its value.
protocol OptionalValue {
  static var wrapped: Any.Type { get }
  static var none: Self { get }
  var someValue: Any? { get }
}

extension Optional: OptionalValue {
  static var wrapped: Any.Type { Wrapped.self }
  var someValue: Any? { self }
}

/// An array, without the type of its elements.
protocol ArrayValue {
  static var elementType: Any.Type { get }
}

extension Array: ArrayValue {
  static var elementType: Any.Type { Element.self }
}

/// A type that encodes itself as a list or with keys that are values.
protocol UnkeyedValue {}
extension Array: UnkeyedValue {}
extension ContiguousArray: UnkeyedValue {}
extension ArraySlice: UnkeyedValue {}
extension Set: UnkeyedValue {}
extension Dictionary: UnkeyedValue {}
