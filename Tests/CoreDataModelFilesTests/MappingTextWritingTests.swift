// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Writing texts of mapping models")
struct MappingTextWritingTests {
  @Test(
    "What was read from a text is written as one: truth values and whole reals in expressions were refused",
    arguments: [
      "TERNARY($source.isOpen == YES, \"open\", \"closed\")", "TERNARY($source.size == 1.0, 2.0, 3)",
      "SUBQUERY($source.lines, $x, $x.isPaid == NO).@count", "{TRUE, 1.0, 2}", "uppercase:(FALSE)",
    ])
  func expressions(text: String) throws {
    let url = URL(fileURLWithPath: "/tmp/M.mapping")
    let document = try MappingTextReader.document(
      of: Data("M   transform   A -> A\n  a  attribute  \(text)\n".utf8), file: url)
    let again = try MappingTextReader.document(of: Data(try document.text().utf8), file: url)
    #expect(again == document)
    #expect(try again.text() == document.text())
  }

  /// Writing took a time that grew with the square of the number of properties.
  @Test("A mapping model with thousands of attributes is written as the text that it was read from")
  func attributes() throws {
    let lines = (10_000..<18_000).map { "  a\($0)  attribute  $source.a\($0)" }
    let text = "M   transform   A -> A\n" + lines.joined(separator: "\n") + "\n"
    let document = try MappingTextReader.document(of: Data(text.utf8), file: URL(fileURLWithPath: "/tmp/M.mapping"))
    #expect(document.entityMappings.first?.attributeMappings.count == 8_000)
    #expect(try document.text() == text)
  }
}
