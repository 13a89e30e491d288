// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// An element of an XML file, with the line it stands on for messages.
struct XMLElementNode {
  let name: String
  let line: Int
  let attributes: [String: String]
  var children: [XMLElementNode] = []
  /// The characters between the tags, those of child elements not included.
  var text = ""

  /// The value of an attribute; nil also where it is empty.
  subscript(attribute: String) -> String? {
    attributes[attribute].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Whether an attribute says yes.
  func flag(_ attribute: String) -> Bool {
    flag(attribute, default: false)
  }

  /// What an attribute says, or a default where it is absent.
  func flag(_ attribute: String, default fallback: Bool) -> Bool {
    guard let value = self[attribute] else { return fallback }
    return ["yes", "true", "1"].contains(value.lowercased())
  }

  /// The child elements of a name.
  func children(_ name: String) -> [XMLElementNode] {
    children.filter { $0.name == name }
  }
}

/// Reads a whole XML file into elements; entities of any kind are refused, so that a file cannot reach for others.
final class XMLTreeReader: NSObject, XMLParserDelegate {
  /// Deeper than any model; a bound so that a hostile file cannot exhaust the stack of a reader.
  private static let deepest = 64

  private var open: [XMLElementNode] = []
  private var root: XMLElementNode?
  private var refusal: String?

  /// The root element of the file's content.
  static func root(of data: Data, file: URL) throws -> XMLElementNode {
    // Foundation's parser traps on Linux where the name of an attribute is no UTF-8.
    guard let text = String(validating: data, as: UTF8.self) else {
      throw ModelFileError(
        .notXML, found: "The file is not a text in UTF-8.", advice: "Is it the contents file of an .xcdatamodel?",
        file: file)
    }
    // It does not report declarations of entities to its delegate either, so they are looked for here.
    guard !text.contains("<!ENTITY") else {
      throw ModelFileError(
        .unsupportedFile, found: "The file declares XML entities.", advice: "Save the model with Xcode again.",
        file: file)
    }
    let reader = XMLTreeReader()
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = reader
    let isComplete = parser.parse()
    if let refusal = reader.refusal {
      throw ModelFileError(
        .unsupportedFile, found: refusal, advice: "Save the model with Xcode again.", file: file,
        line: parser.lineNumber)
    }
    guard isComplete, let root = reader.root else {
      guard reader.root != nil || !reader.open.isEmpty else {
        throw ModelFileError(
          .notXML, found: "This is not XML.", advice: "Is it the contents file of an .xcdatamodel?", file: file)
      }
      let reason = parser.parserError.map { " (\($0.localizedDescription))" } ?? ""
      throw ModelFileError(
        .brokenXML, found: "The XML breaks off or is malformed\(reason).",
        advice: "Restore the file from version control.", file: file, line: parser.lineNumber)
    }
    return root
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    guard open.count < Self.deepest else {
      refusal = "Elements are nested more than \(Self.deepest) deep."
      return parser.abortParsing()
    }
    open.append(XMLElementNode(name: name, line: parser.lineNumber, attributes: attributes))
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) {
    if !open.isEmpty { open[open.count - 1].text += string }
  }

  func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
    guard let element = open.popLast() else { return }
    if open.isEmpty {
      root = element
    } else {
      open[open.count - 1].children.append(element)
    }
  }
}
