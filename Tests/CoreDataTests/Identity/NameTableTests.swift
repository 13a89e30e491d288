// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import CoreData

@Suite("Names of properties")
struct NameTableTests {
  @Test("Every name is found at its position, and no other name is")
  func positions() {
    let names =
      ["", "a", "name", "note", "nose", "fullName", "dateCreated"]
      + (0..<300).map { "attribute with a long name, number \($0), of many" }
    let table = NameTable(names)
    for (position, name) in names.enumerated() { #expect(table.position(of: name) == position) }
    for other in ["b", "nane", "fullname", "attribute with a long name, number 300, of many"] {
      #expect(table.position(of: other) == nil)
    }
    #expect(NameTable([]).position(of: "") == nil)
  }

  @Test("A name in another Unicode form is the same name")
  func forms() {
    let table = NameTable(["id", "caf\u{E9}"])
    #expect(table.position(of: "cafe\u{301}") == 1)
  }
}
