// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Large texts of mapping models")
struct LargeMappingTextTests {
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
