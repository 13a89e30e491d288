// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

extension PredicateTranslator {
  func property<Root: PredicateExpression>(_ keyPath: AnyKeyPath, _ type: Any.Type, of root: Root) throws -> Term {
    switch try term(of: root) {
    case .object(let object): return try object.property(keyPath, names)
    case .composite(let composite):
      guard let keyPath = keyPath as? PartialKeyPath<Root.Output>,
        let offset = MemoryLayout<Root.Output>.offset(of: keyPath),
        let name = StructFields.name(at: offset, of: Root.Output.self),
        let element = composite.elements.first(where: { $0.name == name })
      else { break }
      return try composite.part(element)
    case .collection(let collection):
      let count = NSExpression(forFunction: "count:", arguments: [collection.expression])
      guard let paths = Root.Output.self as? any CountableCollection.Type else { break }
      if keyPath == paths.countPath { return .scalar(Scalar(count, .integer, mayBeNil: false)) }
      if keyPath == paths.isEmptyPath {
        return .condition(Condition(.hasElements(collection.expression)).negated)
      }
    case .scalar(let scalar):
      switch scalar.kind {
      case .string where keyPath == \String.count: return .characterCount(scalar)
      case .string where keyPath == \String.isEmpty:
        return .condition(Self.compare(scalar.expression, .equalTo, NSExpression(forConstantValue: "")))
      case .raw(_, let inner):
        guard let root = Root.Output.self as? any RawRepresentable.Type, root.isRawValue(keyPath) else { break }
        return .scalar(Scalar(scalar.expression, inner, mayBeNil: scalar.mayBeNil, needed: scalar.needed))
      default: break
      }
    default: break
    }
    throw NotInStore("The property \(type) of \(Root.Output.self) is computed in memory: \(keyPath.words)")
  }
}

extension ObjectPath {
  func property(_ keyPath: AnyKeyPath, _ names: any KeyPathNames) throws -> Term {
    guard let property = names.property(keyPath, of: type) else {
      // The key path of an inherited property differs from that in the superclass.
      if ModelLayout.classes(of: type).count > 1 { return try KeyPathProbe(keyPath, of: type).term(from: self, names) }
      throw NotInStore("\(type) does not store the property of the key path \(keyPath.words)")
    }
    return try self.property(property)
  }

  func property(_ property: PropertyReference) throws -> Term {
    let mayBeNil = self.mayBeNil || property.isOptional
    switch property.kind {
    case .identifier: return .object(self)
    case .toOne(let destination):
      return .object(
        ObjectPath(row: row.appending(property.name), type: destination, mayBeNil: mayBeNil, needed: needed))
    case .toMany(let element):
      return .collection(ModelCollection(expression: row.expression(property.name), element: element))
    case .attribute(let type, let shape):
      return try CompositePath.term(row, property.name, type, shape, mayBeNil: mayBeNil, needed: needed)
    }
  }
}

extension CompositePath {
  /// Returns the value of an element.
  func part(_ element: ValueShape.Element) throws -> Term {
    let declared = StructFields.type(named: element.name, of: type) as? any OptionalValue.Type
    return try Self.term(
      row, element.name, element.type(in: type), element.shape,
      mayBeNil: mayBeNil || element.isOptional || declared != nil, needed: needed)
  }

  /// Returns the value of an attribute, or of an element of one.
  static func term(
    _ row: RowPath, _ name: String, _ type: Any.Type?, _ shape: ValueShape, mayBeNil: Bool,
    needed: Set<PredicateExpressions.VariableID>
  ) throws -> Term {
    switch shape {
    case .plain(let attributeType):
      guard let kind = type.flatMap(ScalarKind.init) ?? ScalarKind(attributeType) else { break }
      return .scalar(Scalar(row.expression(name), kind, mayBeNil: mayBeNil, needed: needed))
    case .composite(let elements):
      guard let type else { break }
      // The only element of an enum with raw values has the name of the property.
      if let raw = (type as? any RawRepresentable.Type)?.rawType {
        guard elements.count == 1, let kind = ScalarKind(raw) else { break }
        return .scalar(
          Scalar(
            row.expression(name, name), .raw(String(reflecting: type), kind), mayBeNil: mayBeNil, needed: needed))
      }
      return .composite(
        CompositePath(
          row: row.appending(name), type: type, elements: elements, mayBeNil: mayBeNil, needed: needed))
    case .array, .json, .transformable: break
    }
    throw NotInStore("'\(name)' is stored in a form that a store cannot look into")
  }
}

extension ValueShape.Element {
  /// Returns the declared type of the element; nil if it is not a property of the composite's type.
  fileprivate func type(in composite: Any.Type) -> Any.Type? {
    guard let type = StructFields.type(named: name, of: composite) else { return nil }
    return (type as? any OptionalValue.Type)?.wrapped ?? type
  }
}

extension ScalarKind {
  /// Creates the kind of values of an attribute type, without knowing the Swift type.
  fileprivate init?(_ attributeType: UInt) {
    switch NSAttributeType(rawValue: attributeType) {
    case .stringAttributeType: self = .string
    default: return nil
    }
  }
}

extension RawRepresentable {
  fileprivate static var rawType: Any.Type { RawValue.self }

  /// Returns whether a key path has the raw value as its value, for all cases of an enum.
  fileprivate static func isRawValue(_ keyPath: AnyKeyPath) -> Bool {
    guard let keyPath = keyPath as? KeyPath<Self, RawValue>, let cases = EnumCases.all(of: Self.self) else {
      return false
    }
    return cases.allSatisfy { isSame($0[keyPath: keyPath], $0.rawValue) }
  }

  private static func isSame(_ left: Any, _ right: Any) -> Bool {
    guard let left = left as? AnyHashable, let right = right as? AnyHashable else { return false }
    return left == right
  }
}

extension EnumCases {
  /// Returns the cases of an enum without associated values; nil for any other type.
  fileprivate static func all<Value>(of type: Value.Type) -> [Value]? {
    guard let cases = EnumCases(of: type), cases.payloads == 0, MemoryLayout<Value>.size <= 1 else { return nil }
    if MemoryLayout<Value>.size == 0 { return first(of: type).map { [$0] } }
    return (0..<min(cases.names.count, 256)).map { index in
      // Such an enum is the index of its case.
      withUnsafeBytes(of: UInt8(index)) { $0.load(as: Value.self) }
    }
  }
}

/// The key paths of a collection of models that a store can evaluate.
private protocol CountableCollection {
  static var countPath: AnyKeyPath { get }
  static var isEmptyPath: AnyKeyPath { get }
}

extension Array: CountableCollection {
  fileprivate static var countPath: AnyKeyPath { \[Element].count }
  fileprivate static var isEmptyPath: AnyKeyPath { \[Element].isEmpty }
}

extension Optional: CountableCollection where Wrapped: CountableCollection {
  fileprivate static var countPath: AnyKeyPath { Wrapped.countPath }
  fileprivate static var isEmptyPath: AnyKeyPath { Wrapped.isEmptyPath }
}
