// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

// Only Core Data: it hands on Foundation, and its own expression classes are the ones in sight.
@testable import CoreData
@testable import CoreDataPredicates

@Suite("Trees of Foundation's predicates")
struct PredicateBridgeTests {
  private func takesExpression(_ expression: NSExpression) -> NSExpression.ExpressionType { expression.expressionType }

  @Test("The types can be named where only Core Data is imported")
  func typeNames() throws {
    let predicate: NSPredicate = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "a"), rightExpression: NSExpression(forVariable: "v"), modifier: .any,
      type: .contains)
    let comparison: NSComparisonPredicate = try #require(predicate as? NSComparisonPredicate)
    let options: NSComparisonPredicate.Options = comparison.options
    #expect(takesExpression(comparison.rightExpression) == .variable)
    #expect(options.isEmpty)
  }

  @Test("Every kind of predicate gives its tree; blocks are reported")
  func trees() throws {
    let format = NSPredicate(format: "a == 1")
    let tree = PredicateSyntax.comparison(.init(.keyPath("a"), .equalTo, .constant(.integer(1))))
    let block = NSPredicate { _, _ in true }
    #expect(try PredicateSyntax(format) == tree)
    #expect(try PredicateSyntax(NSPredicate(value: true)) == .constant(true))
    #expect(try PredicateSyntax(NSPredicate(value: false)) == .constant(false))
    #expect(
      try PredicateSyntax(
        NSCompoundPredicate(orPredicateWithSubpredicates: [
          format, NSCompoundPredicate(notPredicateWithSubpredicate: format),
        ]))
        == .or([tree, .not(tree)]))
    #expect(
      NSCompoundPredicate(andPredicateWithSubpredicates: [format, NSPredicate(value: true)]).format
        == "a == 1 AND TRUEPREDICATE")
    #expect(block.format == "BLOCKPREDICATE")
    let error = try #require(throws: OpaqueCriterion.self) {
      try PredicateSyntax(NSCompoundPredicate(andPredicateWithSubpredicates: [format, block]))
    }
    #expect(error.kind == .blockPredicate)
    #expect(try NSCompoundPredicate(andPredicateWithSubpredicates: [format, block]).holds(for: ["a": 1]))
    #expect(
      try PredicateSyntax(NSPredicate(format: "%@ AND b == 2", format))
        == .and([tree, .comparison(.init(.keyPath("b"), .equalTo, .constant(.integer(2))))]))
  }

  @Test("Formats give the classes that Apple's parser gives")
  func classes() throws {
    let compound = try #require(NSPredicate(format: "a == 1 OR NOT b == 2") as? NSCompoundPredicate)
    #expect(compound.compoundPredicateType == .or && compound.subpredicates.count == 2)
    #expect("\(compound)" == "a == 1 OR (NOT b == 2)")
    #expect(compound.subpredicates[0] is NSComparisonPredicate)
    #expect(compound == NSPredicate(format: "a == 1 || !(b == 2)"))
    #expect(compound != NSPredicate(format: "a == 1 || !(b == 3)"))
    #expect(NSPredicate(format: "TRUEPREDICATE") == NSPredicate(value: true))
    #expect(compound.copy() as? NSPredicate == compound)
    #expect(compound.evaluate(with: ["a": 2, "b": 3]) && !compound.evaluate(with: ["a": 2, "b": 2]))
  }

  @Test("Sort keys are known where a descriptor was made from a key, and reported where not")
  func sortKeys() throws {
    #expect(
      try SortKey(NSSortDescriptor(key: "a.b", ascending: false, selector: "localizedStandardCompare:"))
        == SortKey(keyPath: "a.b", isAscending: false, method: .localizedStandard))
    #expect(
      try #require(throws: OpaqueCriterion.self) {
        try SortKey(NSSortDescriptor(keyPath: \String.count, ascending: true))
      }.kind == .swiftKeyPath)
    #expect(
      try #require(throws: OpaqueCriterion.self) {
        try SortKey(NSSortDescriptor(key: "a", ascending: true) { _, _ in .orderedSame })
      }.kind == .comparator)
  }

  @Test("The same predicate made in another way is equal, from both sides")
  func equality() {
    func comparison(_ key: String, _ value: Any) -> NSPredicate {
      NSComparisonPredicate(
        leftExpression: NSExpression(forKeyPath: key), rightExpression: NSExpression(forConstantValue: value),
        modifier: .direct, type: .equalTo)
    }
    let pairs: [(NSPredicate, NSPredicate)] = [
      (NSPredicate(format: "a == 1"), comparison("a", 1)),
      (NSPredicate(format: "%K == %@", "a", "x"), comparison("a", "x")),
      (NSPredicate(format: "a = YES"), comparison("a", true)),
      (NSPredicate(format: "a == %d", 1), comparison("a", NSNumber(value: 1))),
      (NSPredicate(format: "a == 1.5"), comparison("a", 1.5)),
      (NSPredicate(format: "TRUEPREDICATE"), NSPredicate(value: true)),
      (
        NSPredicate(format: "a == 1 AND b == 2"),
        NSCompoundPredicate(andPredicateWithSubpredicates: [comparison("a", 1), comparison("b", 2)])
      ),
      (NSPredicate(format: "NOT a == 1"), NSCompoundPredicate(notPredicateWithSubpredicate: comparison("a", 1))),
      (
        NSPredicate(format: "a == 1 OR NOT (b == 2 AND c == 3)"),
        NSCompoundPredicate(orPredicateWithSubpredicates: [
          comparison("a", 1),
          NSCompoundPredicate(
            notPredicateWithSubpredicate: NSCompoundPredicate(andPredicateWithSubpredicates: [
              comparison("b", 2), comparison("c", 3),
            ])),
        ])
      ),
    ]
    for (first, second) in pairs {
      #expect(first == second, "\(first)")
      #expect(second == first, "\(first)")
    }
    for (index, pair) in pairs.enumerated() {
      #expect(pairs.indices.filter { pairs[$0].0 == pair.1 } == (index == 0 || index == 3 ? [0, 3] : [index]))
    }
    #expect(comparison("a", 1).hash == NSPredicate(format: "a == 1").hash)
  }

  @Test("A block of an expression is called with the object and the arguments")
  func blocks() {
    let expression = NSExpression(
      forBlock: { object, arguments, _ in "\(object ?? "")\(arguments)" },
      arguments: [NSExpression(forConstantValue: 1)])
    #expect(expression.expressionType == .block)
    #expect(expression.arguments?.count == 1)
    #expect(expression.expressionValue(with: "x", context: nil) as? String == "x[1]")
  }

  #if os(Linux) || os(macOS)
  @Test("An unknown key and a format that cannot be read end the program with a sentence")
  func traps() async {
    await #expect(processExitsWith: .failure) {
      struct Empty: KeyValueReading {
        func value(forKeyPathComponent key: String) throws -> Any? {
          throw EvaluationError.unknownKey(key, object: "Empty")
        }
      }
      _ = NSPredicate(format: "missing == 1").evaluate(with: Empty())
    }
    await #expect(processExitsWith: .failure) { _ = NSPredicate(format: "a ==") }
  }
  #endif
}
