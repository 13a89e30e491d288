// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataPredicates
import CoreDataTestSupport
import Foundation

/// Parses and prints formats of predicates and expressions, and evaluates them on a store in SQL and on changed
/// objects.
final class PredicateRunner: FuzzRunner {
  private let lab: FuzzLab
  private let kept: [FuzzInput]
  private let store: TemporaryStore
  private let context: NSManagedObjectContext

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    kept = try lab.kept(.predicate)
    store = try TemporaryStore()
    let document = CompanyModel.make().document
    context = try store.context(ModelFilling.lenient(document))
    var filling = ModelFilling(document, .plain)
    try filling.fill(context)
    // With unsaved changes, a fetch also evaluates objects.
    _ = context.make("Employee", ["name": "Unsaved", "age": 3])
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var text = PredicateGrammar.predicate(&random)
    if random.oneIn(4) { text = PredicateGrammar.expression(&random, depth: random.small(7)) }
    if random.oneIn(6), !kept.isEmpty {
      text = String(decoding: random.pick(kept).files["format"] ?? Data(), as: UTF8.self)
    }
    var data = Data(text.utf8)
    if random.oneIn(3) { data = ByteMutation.damage(data, &random) }
    return FuzzInput(files: ["format": data])
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let text = String(decoding: input.files["format"] ?? Data(), as: UTF8.self)
    let arguments: [PredicateArgument] = [
      .value(.string("name")), .value(.integer(3)), .value(.string("text")),
    ]
    if random.oneIn(3) {
      let expression = try PredicateParser.parseExpression(text, arguments: arguments)
      try check(expression)
      return "expression"
    }
    let syntax = try PredicateParser.parse(text, arguments: arguments)
    let printed = PredicatePrinter().format(syntax)
    do {
      _ = try PredicateParser.parse(printed)
    } catch let error as PredicateSyntaxError {
      throw Broken("What the printer writes cannot be read: \(printed.prefix(200)): \(error.found)")
    }
    _ = syntax.substituting(["x": .constant(.integer(1))])
    guard random.oneIn(4) else { return "predicate" }
    let request = NSFetchRequest<NSManagedObject>(entityName: random.pick(["Employee", "Department", "Project"]))
    request.predicate = NSPredicate(format: printed)
    request.fetchLimit = random.oneIn(2) ? 3 : 0
    request.includesPendingChanges = random.oneIn(2)
    return "fetched \(min(try context.fetch(request).count, 1))"
  }

  private func check(_ expression: ExpressionSyntax) throws {
    _ = PredicatePrinter.derivationFormat(expression)
    _ = PredicatePrinter().format(PredicatePrinter.withFunctions(expression))
    _ = expression.substituting(["source": .evaluatedObject])
  }
}
