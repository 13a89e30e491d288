// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Testing

@testable import CoreDataModelFiles

@Suite("Default values of composite attributes")
struct ElementDefaultTests {
  @Test("Default values of elements are converted to their types, as those of attributes are")
  func elements() throws {
    func element(_ name: String, _ kind: AttributeKind, _ value: PlainValue?) -> AttributeDocument {
      var element = AttributeDocument(name: name, kind: kind)
      element.defaultValue = value
      return element
    }
    var inner = AttributeDocument(name: "inner", kind: .composite)
    inner.elements = [element("count", .integer16, .string("12abc")), element("none", .string, .null)]
    var composite = AttributeDocument(name: "composite", kind: .composite)
    composite.elements = [element("text", .string, .integer(7)), element("flag", .boolean, .string("YES")), inner]
    composite.defaultValue = .dictionary(["text": .integer(8), "flag": .null, "other": .integer(1)])
    var entity = EntityDocument(name: "E")
    entity.attributes = [composite]
    let read = try ModelCache.unarchive(ModelCache.archive(ModelDocument(entities: [entity])))
    let found = try #require(read.entities.first?.attributes.first)
    #expect(found.elements.map(\.defaultValue) == [.string("7"), .boolean(true), nil])
    #expect(found.elements.last?.elements.map(\.defaultValue) == [.integer(12), nil])
    #expect(found.defaultValue == .dictionary(["text": .string("8"), "other": .integer(1)]))
  }
}
