// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation
import Testing

/// Source as it is written for Apple's platforms, with both modules imported.
@Suite("Predicates as written for Apple's platforms")
struct AppleSourceTests {
  @Test("Formats with arguments of the usual types compile and evaluate")
  func formats() throws {
    let person: [String: Any] = ["age": 4, "name": "x", "joined": Date(timeIntervalSinceReferenceDate: 10)]
    let nothing: String? = nil
    #expect(NSPredicate(format: "age > %d AND name == %@", 3, "x").evaluate(with: person))
    #expect(NSPredicate(format: "name IN %@", ["a", "x"]).evaluate(with: person))
    #expect(NSPredicate(format: "joined < %@", Date()).evaluate(with: person))
    #expect(NSPredicate(format: "joined < %@", NSDate()).evaluate(with: person))
    #expect(NSPredicate(format: "age == %@", NSNumber(value: 4)).evaluate(with: person))
    #expect(NSPredicate(format: "%K == %@", "missing", nothing).evaluate(with: person))
    #expect(NSPredicate(format: "%K == %ld", argumentArray: ["age", 4]).evaluate(with: person))
    #expect(NSPredicate(format: "age BETWEEN {%d, %f}", 1, 4.5).evaluate(with: person))
    let predicate: NSPredicate = NSPredicate(format: "SELF MATCHES %@", "[a-z]+")
    #expect(predicate.evaluate(with: "abc") && !predicate.evaluate(with: "ab1"))
    #expect(["a", "b1"].filter { predicate.evaluate(with: $0) } == ["a"])
    #expect((["a", "b1"] as NSArray).filtered(using: predicate) as? [String] == ["a"])
  }

  @Test("Variable arguments are read by their placeholders")
  func variableArguments() {
    let values: [any CVarArg] = ["age" as NSString, Int32(4), 4.5, "x" as NSString, 4_000_000_000]
    let predicate = withVaList(values) {
      NSPredicate(format: "%K BETWEEN {%d, %f} AND name == %@ AND age < %ld", arguments: $0)
    }
    #expect(predicate.evaluate(with: ["age": 4, "name": "x"]) && !predicate.evaluate(with: ["age": 5, "name": "x"]))
    #expect(!predicate.evaluate(with: ["age": 4, "name": "y"]))
    #expect(withVaList([Int32(-1)]) { NSPredicate(format: "self == %d", arguments: $0) }.evaluate(with: -1))
    #expect(withVaList([]) { NSPredicate(format: "TRUEPREDICATE", arguments: $0) }.evaluate(with: nil))
  }

  @Test("Foundation's compound predicates hold ours, and the tree sees through both")
  func compounds() throws {
    let young = NSPredicate(format: "age < 10")
    let named = NSPredicate(format: "name == %@", "x")
    let both = NSCompoundPredicate(andPredicateWithSubpredicates: [young, named, NSPredicate(value: true)])
    let neither = NSCompoundPredicate(notPredicateWithSubpredicate: both)
    #expect(both.evaluate(with: ["age": 3, "name": "x"]))
    #expect(neither.evaluate(with: ["age": 30, "name": "x"]))
    #expect(young == NSPredicate(format: "age < 10"))
    #expect(young != named)
    #expect("\(young)" == "age < 10")
  }

  @Test("Expressions and comparisons are made and taken apart without naming their types")
  func expressions() throws {
    let comparison = NSComparisonPredicate(
      leftExpression: NSExpression(forKeyPath: "name"), rightExpression: NSExpression(forConstantValue: "A"),
      modifier: .direct, type: .beginsWith, options: [.caseInsensitive])
    #expect(comparison.evaluate(with: ["name": "abc"]))
    #expect(comparison.leftExpression.keyPath == "name")
    #expect(comparison.rightExpression.constantValue as? String == "A")
    #expect("\(comparison)" == "name BEGINSWITH[c] \"A\"")
    let sum = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: "prices")])
    #expect(sum.expressionValue(with: ["prices": [1, 2, 3]], context: nil) as? Int == 6)
    #expect(sum.expressionType == .function && sum.function == "sum:")
    let half = NSExpression(format: "%K / 2", "n")
    #expect(half.expressionValue(with: ["n": 5.0], context: nil) as? Double == 2.5)
  }

  @Test("Variables take values from the call or by substitution, in compounds too")
  func variables() {
    let predicate = NSPredicate(format: "age > $LIMIT")
    #expect(predicate.evaluate(with: ["age": 4], substitutionVariables: ["LIMIT": 3]))
    let compound = NSCompoundPredicate(notPredicateWithSubpredicate: predicate)
    #expect(!compound.withSubstitutionVariables(["LIMIT": 3]).evaluate(with: ["age": 4]))
  }

  @Test("Sort descriptors have keys and sort arrays of objects")
  func sorting() {
    let people: [[String: Any]] = [["name": "b", "age": 1], ["name": "A", "age": 2], ["name": "a", "age": 1]]
    func names(_ descriptors: NSSortDescriptor...) -> [String] {
      ((people as NSArray).sortedArray(using: descriptors) as? [[String: Any]] ?? []).map { "\($0["name"] ?? "")" }
    }
    let byAge = NSSortDescriptor(key: "age", ascending: false)
    #expect(byAge.key == "age" && !byAge.ascending)
    #expect(names(byAge, NSSortDescriptor(key: "name", ascending: true)) == ["A", "a", "b"])
    let byAnyCase = NSSortDescriptor(key: "name", ascending: false, selector: "caseInsensitiveCompare:")
    #expect(names(byAnyCase).first == "b")
    #expect(names(NSSortDescriptor(key: "name", ascending: true)) == ["A", "a", "b"])
    #expect((byAge.reversedSortDescriptor as? NSSortDescriptor)?.ascending == true)
    #expect(NSSortDescriptor(key: "age", ascending: false) == byAge)
  }
}
