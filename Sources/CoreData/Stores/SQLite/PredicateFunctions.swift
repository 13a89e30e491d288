// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataSQLite
import CoreDataStoreFiles
import Foundation

/// SQL functions for operators in expressions, so that SQL calculates exactly as predicates do in memory.
enum PredicateFunctions {
  static func register(with connection: SQLiteConnection) throws {
    try connection.register(function: ValueFunction.name, deterministic: true) { arguments in
      guard arguments.count > 2, let name = arguments[0].text, let letters = arguments[1].text else { return .null }
      return ValueFunction.result(try FunctionLibrary.call(name, values(arguments.dropFirst(2), letters)))
    }
    try connection.register(function: ValueFunction.decimalTextName, argumentCount: 1, deterministic: true) {
      ValueFunction.decimalText($0.first)
    }
    try connection.register(function: ValueFunction.decimalNumberName, argumentCount: 1, deterministic: true) {
      ValueFunction.decimalNumber($0.first)
    }
    try connection.register(function: ValueFunction.decimalsName, argumentCount: 2, deterministic: true) { arguments in
      let values = ValueFunction.decimals(arguments[1])
      return ValueFunction.result(try FunctionLibrary.call(arguments[0].text ?? "", [values]))
    }
    try connection.register(
      aggregate: ValueFunction.sumName, argumentCount: 1, words: ExactSum.wordCount,
      step: { words, call in
        switch call.value(0) {
        case .real(let number): ExactSum(words).add(number)
        case .integer(let number): ExactSum(words).add(number)
        case .null, .text, .blob: break
        }
      }, result: { .real(ExactSum($0).value) })
    try connection.register(function: ValueFunction.orderName, argumentCount: 3, deterministic: true) { arguments in
      let values = values(arguments.dropFirst(), arguments[0].text ?? "")
      guard let left = values[0].flatMap({ Number($0) }), let right = values[1].flatMap({ Number($0) }),
        let order = Number.compare(left, right)
      else { return .null }
      return .integer(Int64(order.rawValue))
    }
  }

  private static func values(_ arguments: ArraySlice<SQLiteValue>, _ letters: String) -> [Any?] {
    zip(arguments, letters).map { ValueFunction.argument($0, letter: $1) }
  }
}
