// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Why a predicate or expression has no value.
internal enum EvaluationError: Error, Equatable, CustomStringConvertible {
  case unknownKey(String, object: String)
  case unknownFunction(String, operand: String)
  case missingVariable(String)
  case wrongType(String, value: String, expected: String)
  case invalidPattern(String)
  case notEvaluable(String)

  internal var description: String {
    switch self {
    case .unknownKey(let key, let object): "\(object) has no value for the key \"\(key)\"."
    case .unknownFunction(let name, let operand): "The function \"\(name)\" is not known to \(operand)."
    case .missingVariable(let name): "The variable $\(name) has no value; give it one among the substitution variables."
    case .wrongType(let operation, let value, let expected): "\(operation) needs \(expected), but found \(value)."
    case .invalidPattern(let pattern): "\"\(pattern)\" is not a regular expression."
    case .notEvaluable(let what): "\(what) cannot be evaluated in memory."
    }
  }
}
