// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite(
  "Archived expressions of other projects",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct ArchivedExpressionFixtureTests {
  @Test("Every expression of the compiled mapping model is read, and comes back equal")
  func compiledMapping() throws {
    let file = "tinrobots__CoreDataPlus/Tests/Resources/SampleModel/Fixtures/V2toV3.cdm"
    let archive = try KeyedArchive(Data(contentsOf: Fixtures.url(file)))
    var expressions: [ExpressionSyntax] = []
    for value in try archive.root().elements("NSEntityMappings") {
      let mapping = try #require(try archive.object(value))
      let properties = try mapping.elements("NSAttributeMappings") + mapping.elements("NSRelationshipMappings")
      let archived =
        try [mapping.object("NSSourceExpression")]
        + properties.map { try archive.object($0)?.object("NSValueExpression") }
      expressions += try archived.compactMap { $0 }.map { try ArchivedExpressions.expression($0) }
    }
    #expect(expressions.count == 25)
    #expect(expressions.contains(.keyPathOf(.variable("source"), "numberPlate")))
    for expression in expressions {
      var builder = KeyedArchiveBuilder()
      let root = try builder.expression(expression)
      let copy = try KeyedArchive(builder.data(root: root)).root()
      #expect(try ArchivedExpressions.expression(copy) == expression)
    }
  }

  @Test("Expressions in mapping sources are written with the classes and keys that Xcode wrote")
  func mappingSources() throws {
    let archives = try Self.expressionsInMappingSources()
    #expect(archives.count == 9)
    for archive in archives {
      var builder = KeyedArchiveBuilder()
      let root = try builder.expression(ArchivedExpressions.expression(KeyedArchive(archive).root()))
      var (ours, theirs) = (try archiveShape(builder.data(root: root)), try archiveShape(archive))
      // Some arguments are archived as a mutable array, some as a plain one.
      for key in ["NSArray", "NSMutableArray"] {
        ours[key] = nil
        theirs[key] = nil
      }
      #expect(ours == theirs)
    }
  }

  private static func expressionsInMappingSources() throws -> [Data] {
    let opening = "<attribute name=\"valueexpressiondata\" type=\"binary\">"
    let files = FileManager.default.enumerator(at: Fixtures.root, includingPropertiesForKeys: nil)
    var result: [Data] = []
    while let file = files?.nextObject() as? URL {
      guard file.lastPathComponent == "xcmapping.xml" else { continue }
      for part in try String(contentsOf: file, encoding: .utf8).components(separatedBy: opening).dropFirst() {
        let text = part.prefix { $0 != "<" }.filter { !$0.isWhitespace }
        result.append(try #require(Data(base64Encoded: text)))
      }
    }
    return result
  }
}

/// The keys that occur in the objects of each class of an archive, and the classes above it.
func archiveShape(_ archive: Data) throws -> [String: Set<String>] {
  guard case .dictionary(let plist) = try BinaryPropertyListReader.value(of: archive),
    case .array(let objects)? = plist["$objects"]
  else { throw StoreContents.Failure(message: "no archive") }
  var result: [String: Set<String>] = [:]
  for case .dictionary(let fields) in objects {
    guard case .uid(let position)? = fields["$class"], case .dictionary(let description) = objects[position],
      case .string(let name)? = description["$classname"], case .array(let line)? = description["$classes"]
    else { continue }
    result[name, default: ["\(line)"]].formUnion(fields.keys)
  }
  return result
}
