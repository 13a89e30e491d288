// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// What an expression of a `#Predicate` means for a store.
enum Term {
  /// A value that does not depend on the models; nil for nil.
  case constant(Any?)
  case condition(Condition)
  /// A `Bool?` that is not an attribute.
  case optionalCondition(isNil: Condition, holds: Condition)
  case scalar(Scalar)
  /// The number of characters of a string, which SQL can only compare with constants.
  case characterCount(Scalar)
  case object(ObjectPath)
  case composite(CompositePath)
  case collection(ModelCollection)
  /// A range; a missing bound is none.
  case range(lower: RangeBound?, upper: RangeBound?)

  struct RangeBound {
    let value: Scalar
    let isIncluded: Bool
  }
}

/// A single value of a row, or computed from values of rows.
struct Scalar {
  let expression: NSExpression
  let kind: ScalarKind
  var mayBeNil: Bool
  /// The variables of optional chains without whose values there is none of this one either.
  var needed: Set<PredicateExpressions.VariableID> = []
  /// Whether the value is constant.
  var isConstant = false
  /// Whether the value is nil.
  var isMissing = false
  /// The constant string; nil for anything else.
  var text: String?

  init(
    _ expression: NSExpression, _ kind: ScalarKind, mayBeNil: Bool, needed: Set<PredicateExpressions.VariableID> = []
  ) {
    (self.expression, self.kind, self.mayBeNil, self.needed) = (expression, kind, mayBeNil, needed)
  }
}

/// The kind of a scalar's values, which decides how a store compares and calculates with them.
indirect enum ScalarKind: Equatable {
  case bool, integer, double, float, decimal, string, date, uuid, data, url
  /// An unsigned integer of 64 bits, whose column has the same bits with a sign.
  case unsigned
  /// An enum, stored as its raw value.
  case raw(String, ScalarKind)

  init?(_ type: Any.Type) {
    switch type {
    case is Bool.Type: self = .bool
    case is Int.Type, is Int8.Type, is Int16.Type, is Int32.Type, is Int64.Type, is UInt8.Type, is UInt16.Type,
      is UInt32.Type:
      self = .integer
    case is UInt.Type, is UInt64.Type: self = .unsigned
    case is Double.Type: self = .double
    case is Float.Type: self = .float
    case is Decimal.Type: self = .decimal
    case is String.Type: self = .string
    case is Date.Type: self = .date
    case is UUID.Type: self = .uuid
    case is Data.Type: self = .data
    case is URL.Type: self = .url
    default: return nil
    }
  }

  /// Whether a store orders such values as Swift does.
  var isOrdered: Bool {
    switch self {
    case .integer, .double, .float, .decimal, .string, .date, .uuid: true
    case .bool, .data, .url, .unsigned, .raw: false
    }
  }

  /// Whether a store calculates with such values as Swift does.
  var isExactlyCalculated: Bool { self == .integer || self == .double || self == .decimal }
}

/// The place of a row: the evaluated row or that of a variable, or what to-one relationships lead to from there.
struct RowPath {
  /// The name of the variable of a subquery; nil for the evaluated row.
  let variable: String?
  var keys: [String] = []

  /// Returns the expression for the row, or for a property of it.
  func expression(_ more: String...) -> NSExpression {
    let keys = keys + more
    guard let variable else {
      return keys.isEmpty ? .expressionForEvaluatedObject() : NSExpression(forKeyPath: keys.joined(separator: "."))
    }
    if keys.isEmpty { return NSExpression(forVariable: variable) }
    // The signs keep the parser from taking a name for one of its words.
    return NSExpression(format: "$\(variable)." + keys.map { "#\($0)" }.joined(separator: "."), argumentArray: [])
  }

  func appending(_ key: String) -> RowPath {
    var result = self
    result.keys.append(key)
    return result
  }
}

/// A model: the destination of a path, also for its identifier.
struct ObjectPath {
  let row: RowPath
  let type: any PersistentModel.Type
  var mayBeNil: Bool
  var needed: Set<PredicateExpressions.VariableID> = []
}

/// A value that is stored in parts.
struct CompositePath {
  let row: RowPath
  let type: Any.Type
  let elements: [ValueShape.Element]
  var mayBeNil: Bool
  var needed: Set<PredicateExpressions.VariableID> = []
}

/// The destinations of a to-many relationship, possibly filtered.
struct ModelCollection {
  let expression: NSExpression
  let element: any PersistentModel.Type
}
