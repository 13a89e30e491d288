// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import SwiftDataMacroExpansion

@Suite("Messages of the compiler")
struct CompilerPluginTests {
  private func answer(_ message: String) throws -> NSDictionary {
    let bytes = CompilerPlugin.answer(to: Array(message.utf8))
    return try #require(try JSONSerialization.jsonObject(with: Data(bytes)) as? NSDictionary)
  }

  /// Returns what a plug-in writes that reads some bytes.
  private func output(_ input: [UInt8]) -> [UInt8] {
    var (rest, written) = (input[...], [UInt8]())
    CompilerPlugin.run(
      read: { count in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }, write: { written += $0 })
    return written
  }

  @Test("The version is the older one of the compiler's and the plug-in's", arguments: [(5, 5), (7, 7), (90, 7)])
  func capability(host: Int, version: Int) throws {
    let result = try answer(#"{"getCapability":{"capability":{"protocolVersion":\#(host),"more":[1]}}}"#)
    #expect(
      result == ["getCapabilityResult": ["capability": ["protocolVersion": version, "features": [String]()]]])
    #expect(try answer(#"{"getCapability":{}}"#)["getCapabilityResult"] != nil)
  }

  @Test("An attached macro is expanded, whatever else the message says")
  func attached() throws {
    let message = #"""
      {"expandAttachedMacro":{"macro":{"moduleName":"SwiftDataMacros","typeName":"ModelMacro","name":"Model"},
      "macroRole":"memberAttribute","discriminator":"$s1","attributeSyntax":{"kind":"attribute","source":"@Model ",
      "location":{"fileID":"a/b.swift","fileName":"b.swift","offset":0,"line":1,"column":1}},
      "declSyntax":{"kind":"declaration","source":"\n var a = 1"},"parentDeclSyntax":null,"lexicalContext":[],
      "staticBuildConfiguration":"{}","unknown":{"a":[1,2]}}}
      """#
    #expect(
      try answer(message) == ["expandMacroResult": ["expandedSource": "@_PersistedProperty", "diagnostics": [Any]()]])
  }

  @Test("A freestanding macro expands to nothing")
  func freestanding() throws {
    let message = #"""
      {"expandFreestandingMacro":{"macro":{"moduleName":"M","typeName":"UniqueMacro","name":"Unique"},
      "discriminator":"$s1","syntax":{"kind":"declaration","source":"#Unique<A>([\\.a])"}}}
      """#
    #expect(try answer(message) == ["expandMacroResult": ["expandedSource": "", "diagnostics": [Any]()]])
  }

  @Test("A diagnostic has all that the compiler requires, at the offset in the file")
  func diagnostic() throws {
    let message = #"""
      {"expandAttachedMacro":{"macro":{"moduleName":"M","typeName":"ModelMacro","name":"Model"},
      "macroRole":"member","discriminator":"$s1","declSyntax":{"kind":"declaration","source":"\n@Model struct A {}",
      "location":{"fileID":"a/b.swift","fileName":"b.swift","offset":100,"line":1,"column":1}}}}
      """#
    let result = try #require(try answer(message)["expandMacroResult"] as? NSDictionary)
    let diagnostic = try #require((result["diagnostics"] as? [NSDictionary])?.first)
    #expect(diagnostic["severity"] as? String == "error")
    #expect(diagnostic["position"] as? NSDictionary == ["fileName": "b.swift", "offset": 108])
    for key in ["highlights", "notes", "fixIts"] { #expect((diagnostic[key] as? [Any])?.isEmpty == true) }
  }

  @Test(
    "What cannot be understood is answered with an error",
    arguments: [
      "", "{", "[]", "null", "\u{0}", #"{"expandAttachedMacro":{}}"#, #"{"somethingNew":{"a":1}}"#, "{}",
      #"{"expandAttachedMacro":{"macro":{"typeName":"OtherMacro","name":"Other"},"macroRole":"peer"}}"#,
    ])
  func malformed(message: String) throws {
    let result = try #require(try answer(message)["expandMacroResult"] as? NSDictionary)
    let diagnostic = try #require((result["diagnostics"] as? [NSDictionary])?.first)
    #expect((diagnostic["message"] as? String)?.isEmpty == false)
  }

  @Test("A library is not loaded")
  func library() throws {
    let result = try answer(#"{"loadPluginLibrary":{"libraryPath":"/a.so","moduleName":"A"}}"#)
    #expect(result == ["loadPluginLibraryResult": ["loaded": false, "diagnostics": [Any]()]])
  }

  @Test("Messages follow their lengths, the least significant byte first")
  func framing() {
    let message = Array(#"{"getCapability":{}}"#.utf8)
    let framed = [UInt8(message.count), 0, 0, 0, 0, 0, 0, 0] + message
    let answer = CompilerPlugin.answer(to: message)
    let framedAnswer = [UInt8(answer.count), 0, 0, 0, 0, 0, 0, 0] + answer
    #expect(output(framed + framed) == framedAnswer + framedAnswer)
  }

  @Test("The plug-in ends at the end of its input, at an empty message and at a length that cannot be")
  func ends() {
    #expect(output([]).isEmpty)
    #expect(output([1, 0, 0]).isEmpty)
    #expect(output([9, 0, 0, 0, 0, 0, 0, 0, 123]).isEmpty)
    #expect(output([0, 0, 0, 0, 0, 0, 0, 0]).isEmpty)
    #expect(output([255, 255, 255, 255, 255, 255, 255, 255, 1]).isEmpty)
  }
}
