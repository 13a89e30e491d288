// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Errors in texts of mapping models")
struct MappingTextErrorTests {
  private static let url = URL(fileURLWithPath: "/tmp/Huge.mapping")
  private static let long = String(repeating: "x", count: 100_000)

  @Test(
    "Quote at most about 80 characters of a line, whatever is wrong with it",
    arguments: [
      "A   transform   A -> A\n  name  attribute  \(long) +\n",
      "A   transform   A -> A\n  name  attribute  $source.a == == \(long)\n",
      "A   transform   A -> A\n  name  attribute  FUNCTION($source, \"\(long)\n",
      "A   transform   A -> A\n  name  attribute  \"\(long)\n",
      "A   transform   A -> A\n  name  attribute  constant \(long)\n",
      "A   transform   A -> A\n  filter  a = \(long) b\n",
      "A   transform   A -> A\n  \(long)  nothing\n",
      "A   \(long)   A -> A\n",
      "A   transform   A -> A \(long)\n",
      "A   transform   A -> A\n  note  \(long) 1\n",
      "A   transform   A -> A\n  note  \(long) = what\n",
      "A   transform   A -> A\n  note  a = \(long)\n",
      "A   transform   A -> A\n  note  a = \"\(long)\n",
      "A   transform   A -> A\n  note  a = {\"b\": \(long)}\n",
      "A   transform   A -> A\n  policy  A \(long)\n",
      "versions A \(long)\n",
      "\"\(long)   transform   A -> A\n",
    ])
  func excerpt(text: String) throws {
    let error = try #require(throws: ModelFileError.self) {
      try MappingTextReader.document(of: Data(text.utf8), file: Self.url)
    }
    #expect(error.description.count < 600, "\(error.description.prefix(800))")
    #expect(error.description.contains("line "))
  }

  @Test("The quotation is what is around the error")
  func place() throws {
    let text = "A   transform   A -> A\n  name  attribute  (\(Self.long) + 1) == == (\(Self.long))\n"
    let error = try #require(throws: ModelFileError.self) {
      try MappingTextReader.document(of: Data(text.utf8), file: Self.url)
    }
    #expect(error.description.contains("x + 1) == == (x"), "\(error.description.prefix(800))")
  }

  @Test("A text with the line ends of Windows says the same, and counts lines the same")
  func lineEnds() throws {
    let text = "# Notes\nA   transform   A -> A\n  name  attribute  $source.name\n  note  a = 1\n"
    func document(_ text: String) throws -> MappingDocument {
      try MappingTextReader.document(of: Data(text.utf8), file: Self.url)
    }
    #expect(try document(text.replacingOccurrences(of: "\n", with: "\r\n")) == document(text))
    let error = try #require(throws: ModelFileError.self) { try document("# A\r\n# B\r\nwrong\r\n") }
    #expect(error.line == 3)
  }
}
