// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import Foundation

/// Runs mapping models as text: a text that can be read is written as a text with the same meaning.
struct MappingTextRunner: FuzzRunner {
  private let lab: FuzzLab
  private let documents: [ModelDocument]
  private let kept: [FuzzInput]
  private let base: String

  private static let file = "M.mapping"

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    documents = try FuzzModels.documents()
    kept = try lab.kept(.text)
    base = try MappingRunner.rich(documents[0]).text(comment: "A comment.")
  }

  private static let names = [
    "Employee", "\"a b\"", "name", "department", "a.b", "9", "_", "-", "policy", "filter", "drops", "objects", "note",
    "\"ä\"", "\"\"", "\"\\u0000\"", "attribute", "relationship", "versions", "no", "constant", "\"->\"", "\"\\ud800\"",
    "->",
  ]
  private static let literals = [
    "1", "-9223372036854775808", "true", "null", "[1, [2, {\"a\": set[1, 1]}]]", "date(0)", "data(00ff)", "set[]",
    "nan",
    "uuid(00000000-0000-0000-0000-00000000000A)", "url(http://a/b)", "decimal(1.50)", "\"a\\nb\"", "-0", "0.1", "[]",
    "9223372036854775808", "1e400", "{", "date(1e300)", "data(0)", "uuid(x)", "url( )", "decimal(1e200)", "\"\\\"",
    "{}",
  ]
  private static let expressions = [
    "$source.name", "nil", "1", "-1.5", "'a\\'b'", "\"\"", "no expression", "$source", "SELF", "{1, 2, {}}", "TRUE",
    "@count",
    "$source.a.@count", "FUNCTION($manager, 'a:', $source.b)", "CAST(0, 'NSDate')", "TERNARY(a == 1, 1, 2)", "a[0]",
    "SUBQUERY($source.a, $x, $x.b > 1)", "uppercase:('a')", "1e300", "9223372036854775807", "$source.#name",
    "a UNION b",
  ]
  private static let kinds = ["add", "remove", "copy", "transform", "custom", "undefined", "Copy"]

  /// Returns a line, mostly one that can be read.
  private static func line(_ random: inout FuzzRandom) -> String {
    let name = names[random.below(random.oneIn(3) ? names.count : 13)]
    func expression(_ random: inout FuzzRandom) -> String {
      random.oneIn(5) ? PredicateGrammar.expression(&random, depth: random.small(6)) : random.pick(expressions)
    }
    switch random.below(14) {
    case 0: return "\(name)   \(random.pick(kinds))   \(random.pick(names)) -> \(random.pick(names))"
    case 1: return "\(name)   \(random.pick(kinds))   \(random.oneIn(2) ? "-> \(name)" : "\(name) ->")"
    case 2: return "  policy  \(name)"
    case 3:
      return "  filter  \(random.oneIn(4) ? PredicateGrammar.predicate(&random) : "a == \(random.pick(expressions))")"
    case 4: return "  objects  \(expression(&random))"
    case 5: return "  drops  \((0..<random.small(4)).map { _ in random.pick(names) }.joined(separator: ", "))"
    case 6, 7: return "  note  \(name) = \(random.pick(literals))"
    case 8: return "  \(name)  attribute  constant \(random.pick(literals))"
    case 9: return "versions \(name) -> \(random.pick(names))"
    case 10 where random.oneIn(4):
      return String(repeating: random.pick([" ", "\t", "#", "a", "\"", "["]), count: random.pick([1, 3, 90_000]))
    default:
      let line = "  \(name)  \(random.pick(["attribute", "relationship"]))  \(expression(&random))"
      return random.oneIn(4) ? line + "\n    \(random.pick(names)) = \(random.pick(literals))" : line
    }
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var lines: [String]
    switch random.below(3) {
    case 0: lines = base.components(separatedBy: "\n")
    case 1 where !kept.isEmpty:
      lines = String(decoding: random.pick(kept).files[Self.file] ?? Data(), as: UTF8.self).components(
        separatedBy: "\n")
    default: lines = ["M   transform   Employee -> Employee"]
    }
    for _ in 0..<random.small(5) {
      // What stands before the first entity mapping is mostly refused.
      lines.insert(Self.line(&random), at: random.oneIn(12) ? random.below(lines.count + 1) : lines.count)
    }
    if random.oneIn(60) {
      let line = Self.line(&random)
      if line.utf8.count < 200 { lines += Array(repeating: line, count: random.pick([500, 5_000])) }
    }
    var data = Data(lines.joined(separator: random.oneIn(8) ? "\r\n" : "\n").utf8)
    if random.oneIn(6) { data = ByteMutation.damage(data, with: Data(base.utf8), &random) }
    return FuzzInput(files: [Self.file: data])
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let folder = try lab.fresh()
    try input.write(to: folder)
    let url = folder.appendingPathComponent(Self.file)
    let (source, destination) = (random.pick(documents), random.pick(documents))
    let document = try MappingDocument(contentsOf: url)
    _ = MappingDescription(document)
    _ = MappingCheck(document, source: source, destination: destination, isCompiled: false)
    // Without its two models, a text may not be enough.
    let loading = try ErrorText.publicResult("load") {
      _ = try NSMappingModel.load(contentsOf: url)
      return "done"
    }

    // What was read from a text can be written as one.
    let text: String
    do {
      text = try document.text()
    } catch {
      throw Broken("A mapping model that was read from text cannot be written as text: \(error)")
    }
    let again = folder.appendingPathComponent("again.mapping")
    try Data(text.utf8).write(to: again)
    let read = try MappingDocument(contentsOf: again)
    guard read.entityMappings.map(\.asText) == document.entityMappings.map(\.asText), try read.text() == text else {
      throw Broken("The text of a mapping model is read differently.")
    }
    // A compiled mapping model cannot hold every constant.
    let compiled = folder.appendingPathComponent("M.cdm")
    try document.writeCompiled(to: compiled)
    let back = try MappingDocument(contentsOf: compiled)
    guard back.entityMappings.count == document.entityMappings.count else {
      throw Broken("\(document.entityMappings.count) entity mappings were compiled, \(back.entityMappings.count) read.")
    }
    let properties = document.entityMappings.reduce(0) {
      $0 + $1.attributeMappings.count + $1.relationshipMappings.count
    }
    return "\(loading) \(min(document.entityMappings.count, 5)) \(min(properties, 10))"
  }
}
