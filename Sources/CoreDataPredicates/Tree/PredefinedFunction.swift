// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The predefined functions of the format language.
public enum PredefinedFunction {
  /// The number of arguments of each function; nil for any number.
  public static let argumentCounts: [String: Int?] = [
    "sum:": nil, "count:": nil, "min:": nil, "max:": nil, "average:": nil, "median:": nil, "mode:": nil,
    "stddev:": nil, "distinct:": nil, "sqrt:": 1, "log:": 1, "ln:": 1, "exp:": 1, "ceiling:": 1, "floor:": 1,
    "abs:": 1, "trunc:": 1, "randomn:": 1, "random": 0, "now": 0, "uppercase:": 1, "lowercase:": 1, "canonical:": 1,
    "length:": 1, "noindex:": 1, "onesComplement:": 1, "chs:": 1, "add:to:": 2, "from:subtract:": 2,
    "multiply:by:": 2, "divide:by:": 2, "modulus:by:": 2, "raise:toThePower:": 2, "raise:to:": 2,
    "bitwiseAnd:with:": 2, "bitwiseOr:with:": 2, "bitwiseXor:with:": 2, "leftshift:by:": 2, "rightshift:by:": 2,
    "objectFrom:withIndex:": 2, "distanceToLocation:fromLocation:": 2, "castObject:toType:": 2,
  ]

  /// The function behind `CAST(value, "type")`.
  public static let cast = "castObject:toType:"
  /// The function behind `collection[index]`.
  public static let index = "objectFrom:withIndex:"
  /// The symbolic indexes: functions without arguments that are valid only between brackets.
  public static let symbolicIndexes: Set<String> = ["FIRST", "LAST", "SIZE"]
  /// The functions that are written as operators.
  public static let operators = [
    "add:to:": "+", "from:subtract:": "-", "multiply:by:": "*", "divide:by:": "/", "raise:toThePower:": "**",
    "bitwiseAnd:with:": "&", "bitwiseOr:with:": "|", "bitwiseXor:with:": "^", "leftshift:by:": "<<",
    "rightshift:by:": ">>",
  ]
  /// The function that is written as a prefix operator.
  public static let complement = "onesComplement:"

  /// Returns the full name of a function: `sum` is short for `sum:`.
  static func fullName(_ name: String) -> String? {
    for candidate in [name, name + ":", name.lowercased(), name.lowercased() + ":"]
    where argumentCounts.keys.contains(candidate) {
      return candidate
    }
    return nil
  }
}
