// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataModelFiles

@Suite("Models that make no sense")
struct ModelErrorTests {
  /// The error of reading and checking a source with these elements.
  private func failure(_ elements: String) -> ModelFileError? {
    #expect(throws: ModelFileError.self) { try model(elements).validate() }
  }

  @Test("An unknown attribute type is named with its line, entity and property")
  func unknownType() throws {
    let error = try #require(failure("<entity name=\"E\">\n<attribute name=\"a\" attributeType=\"Colour\"/></entity>"))
    #expect(error.kind == .unknownAttributeType)
    #expect(error.line == 4)
    #expect(error.entity == "E" && error.property == "a")
    #expect(error.description.contains("\"Colour\"") && error.description.contains("Integer 16"))
    #expect(error.description.hasPrefix("/Model.xcdatamodel/contents, line 4, E.a: "))
  }

  @Test("A missing parent, a ring of parents and a second entity of a name are refused")
  func inheritance() {
    #expect(failure("<entity name=\"A\" parentEntity=\"B\"/>")?.kind == .missingParent)
    let ring = failure("<entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/>")
    #expect(ring?.kind == .inheritanceCycle)
    #expect(ring?.found.contains("A -> B -> A") == true)
    #expect(failure("<entity name=\"A\"/><entity name=\"A\"/>")?.kind == .duplicateEntity)
    #expect(failure("<entity/>")?.kind == .missingName)
  }

  @Test("Relationships to nowhere are refused")
  func relationships() {
    #expect(failure("<entity name=\"A\"><relationship name=\"r\"/></entity>")?.kind == .missingDestination)
    let nowhere = "<relationship name=\"r\" destinationEntity=\"B\"/>"
    #expect(failure("<entity name=\"A\">\(nowhere)</entity>")?.kind == .missingDestination)
    let oneWay = "<relationship name=\"r\" destinationEntity=\"A\" inverseName=\"x\"/>"
    let error = failure("<entity name=\"A\">\(oneWay)</entity>")
    #expect(error?.kind == .missingInverse)
    #expect(error?.entity == "A" && error?.property == "r")
  }

  @Test("An inverse may be inherited by the destination")
  func inheritedInverse() throws {
    let document = try model(
      """
      <entity name="Base"><relationship name="back" destinationEntity="Other" inverseName="to"/></entity>
      <entity name="Sub" parentEntity="Base"/>
      <entity name="Other"><relationship name="to" destinationEntity="Sub" inverseName="back"/></entity>
      """)
    try document.validate()
  }

  @Test("Configurations, requests and constraints that name what is not there are refused")
  func references() throws {
    let absent = "<configuration name=\"C\"><memberEntity name=\"X\"/></configuration>"
    #expect(failure(absent)?.kind == .missingEntity)
    #expect(failure("<fetchRequest name=\"F\" entity=\"X\"/>")?.kind == .missingEntity)
    let constraint =
      "<uniquenessConstraints><uniquenessConstraint><constraint value=\"x\"/></uniquenessConstraint>"
      + "</uniquenessConstraints>"
    #expect(failure("<entity name=\"A\">\(constraint)</entity>")?.kind == .missingProperty)
    let twice = "<attribute name=\"a\" attributeType=\"Date\"/><attribute name=\"a\" attributeType=\"Date\"/>"
    #expect(failure("<entity name=\"A\">\(twice)</entity>")?.kind == .duplicateProperty)
    let use = "<attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/>"
    let element = "<composite name=\"C\"><attribute name=\"a\" attributeType=\"Date\"/></composite>"
    let (known, unknown) = (
      constraint.replacingOccurrences(of: "x", with: "c.a"), constraint.replacingOccurrences(of: "x", with: "c.b")
    )
    try model("<entity name=\"A\">\(use)\(known)</entity>\(element)").validate()
    #expect(failure("<entity name=\"A\">\(use)\(unknown)</entity>\(element)")?.property == "c.b")
    let error = failure("<entity name=\"A\">\(use)</entity><composite name=\"C\">\(twice)</composite>")
    #expect(error?.kind == .duplicateProperty)
    #expect(error?.property == "c.a")
  }

  @Test("Values and predicates that cannot be read are refused where they stand")
  func values() {
    func attribute(_ text: String) -> ModelFileError.Kind? {
      failure("<entity name=\"A\"><attribute name=\"a\" \(text)/></entity>")?.kind
    }
    #expect(attribute("attributeType=\"String\" derived=\"YES\" derivationExpression=\"a:(\"") == .unreadableExpression)
    #expect(attribute("attributeType=\"Composite\" composite=\"Nothing\"") == .missingComposite)
    let request = "<fetchRequest name=\"F\" entity=\"A\" predicateString=\"a &gt;\"/>"
    #expect(failure(request)?.kind == .unreadableExpression)
    let ring = "<composite name=\"C\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/></composite>"
    let user = "<entity name=\"A\"><attribute name=\"c\" attributeType=\"Composite\" composite=\"C\"/></entity>"
    #expect(failure(ring + user)?.kind == .missingComposite)
  }

  @Test("Damaged sources are refused or read, and never bring the program down")
  func mutations() throws {
    let source = Data(
      """
      <model userDefinedModelVersionIdentifier=""><entity name="A" parentEntity="B" elementID="C" isAbstract="YES">
      <attribute name="n" attributeType="Decimal" defaultValueString="0.5" minValueString="1"/>
      <attribute name="d" attributeType="Date" defaultDateTimeInterval="1" maxDateTimeInterval="9"/>
      <attribute name="c" attributeType="String" derived="YES" derivationExpression="canonical:(d)"/>
      <relationship name="r" toMany="YES" minCount="1" maxCount="9" destinationEntity="A" inverseName="r"/>
      <fetchIndex name="i"><fetchIndexElement property="n" type="Binary" order="descending"/></fetchIndex>
      </entity><entity name="B"/></model>
      """.utf8)
    let file = URL(fileURLWithPath: "/contents")
    try XCDataModelReader.document(of: source, file: file).validate()
    var random = Dice(state: 3)
    var refused = 0
    for _ in 0..<2000 {
      var copy = source
      copy[Int.random(in: 0..<copy.count, using: &random)] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      do {
        try XCDataModelReader.document(of: copy, file: file).validate()
      } catch {
        #expect(error is ModelFileError)
        refused += 1
      }
    }
    #expect(refused > 500)
  }

  @Test("Bytes that are no text are refused")
  func bytes() {
    let error = #expect(throws: ModelFileError.self) {
      try XCDataModelReader.document(
        of: Data("<model nam".utf8) + [0xE5] + Data("=\"\"/>".utf8), file: URL(fileURLWithPath: "/contents"))
    }
    #expect(error?.kind == .notXML)
  }

  @Test("Files that are no models are told apart")
  func files() throws {
    func kind(_ text: String) -> ModelFileError.Kind? {
      #expect(throws: ModelFileError.self) {
        try XCDataModelReader.document(
          of: Data(text.utf8), file: URL(fileURLWithPath: "/contents"))
      }?.kind
    }
    #expect(kind("") == .notXML)
    #expect(kind("SQLite format 3") == .notXML)
    #expect(kind("<model><entity name=\"A\">") == .brokenXML)
    #expect(kind("<model><entity name=\"A\"></model>") == .brokenXML)
    #expect(kind("<plist/>") == .unsupportedFile)
    #expect(kind("<!DOCTYPE model [<!ENTITY a \"b\">]><model>&a;</model>") == .unsupportedFile)
    #expect(kind("<!DOCTYPE model [<!ENTITY a SYSTEM \"/etc/hostname\">]><model>&a;</model>") == .unsupportedFile)
    let deep = String(repeating: "<model>", count: 100) + String(repeating: "</model>", count: 100)
    #expect(kind(deep) == .unsupportedFile)
  }
}
