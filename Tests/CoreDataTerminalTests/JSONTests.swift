// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal
import Foundation
import Testing

@Suite("JSON text")
struct JSONTests {
  static let plan: JSONText = [
    "format": "coredata.plan/1", "steps": [["kind": "copy", "rows": 52340], []], "empty": [:], "done": false,
    "share": 0.5, "none": .null,
  ]

  @Test("One line has no blanks and keeps the order of keys")
  func line() {
    #expect(
      Self.plan.line()
        == #"{"format":"coredata.plan/1","steps":[{"kind":"copy","rows":52340},[]],"empty":{},"done":false,"#
        + #""share":0.5,"none":null}"#)
  }

  @Test("The pretty form has a value a line")
  func pretty() {
    #expect(
      Self.plan.pretty() == """
        {
          "format": "coredata.plan/1",
          "steps": [
            {
              "kind": "copy",
              "rows": 52340
            },
            []
          ],
          "empty": {},
          "done": false,
          "share": 0.5,
          "none": null
        }

        """)
    #expect(JSONText.null.pretty() == "null\n")
  }

  @Test("Everything that JSON forbids in a text is escaped, and nothing else")
  func escaping() {
    #expect(
      JSONText.string("\"\\/\n\r\t\u{8}\u{C}\u{0}\u{1F}\u{7F}\u{2028}é日🎉").line()
        == #""\"\\/\n\r\t\b\f\u0000\u001f\u007f\u2028é日🎉""#)
    #expect(JSONText.object([.init("a\"b", 1)]).line() == #"{"a\"b":1}"#)
  }

  @Test("Numbers keep all their digits")
  func numbers() {
    #expect(JSONText.integer(Int64.max).line() == "9223372036854775807")
    #expect(JSONText.integer(Int64.min).line() == "-9223372036854775808")
    #expect(JSONText.real(0.1).line() == "0.1")
    #expect(JSONText.real(1e300).line() == "1e+300")
    #expect(JSONText.real(-0.0).line() == "-0.0")
    #expect(JSONText.array([.real(.nan), .real(.infinity)]).line() == "[null,null]")
  }

  @Test("What is not there is null")
  func optional() {
    #expect(
      JSONText.array([.optional(nil as String?), .optional("x"), .optional(nil as Int?), .optional(3)]).line()
        == #"[null,"x",null,3]"#)
  }

  @Test("Foundation reads what is written")
  func readBack() throws {
    for text in [Self.plan.line(), Self.plan.pretty()] {
      let value = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
      #expect(value?["format"] as? String == "coredata.plan/1")
      #expect(value?.count == 6)
    }
    let scalars = String(String.UnicodeScalarView((0..<0x300).compactMap { Unicode.Scalar($0 as UInt32) }))
    let text = JSONText.array([.string(scalars)]).line()
    #expect(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String] == [scalars])
  }
}
