// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// An element of an XML file, with its line number for error messages.
struct XMLElementNode {
  let name: String
  let line: Int
  let attributes: [String: String]
  var children: [XMLElementNode] = []
  /// The text between the tags, without that of child elements.
  var text = ""

  /// The value of an attribute; nil if it is missing or empty.
  subscript(attribute: String) -> String? {
    attributes[attribute].flatMap { $0.isEmpty ? nil : $0 }
  }

  /// Returns the flag in an attribute; false if it is missing.
  func flag(_ attribute: String) -> Bool {
    flag(attribute, default: false)
  }

  /// Returns the flag in an attribute, or a default if it is missing.
  func flag(_ attribute: String, default fallback: Bool) -> Bool {
    guard let value = self[attribute] else { return fallback }
    return ["yes", "true", "1"].contains(value.lowercased())
  }

  /// Returns the child elements with a name.
  func children(_ name: String) -> [XMLElementNode] {
    children.filter { $0.name == name }
  }
}

/// The limits of an XML file.
struct XMLLimits {
  /// The size of the file in bytes.
  var bytes: Int
  /// The number of elements and attributes.
  var elements: Int

  /// The limits for models. A model with 20,000 attributes has a quarter of these elements.
  static let model = XMLLimits(bytes: ModelFile.largest, elements: 1_000_000)
}

/// Reads a whole XML file into elements.
///
/// Entity and attribute-list declarations are rejected, so that a file can neither refer to other files nor expand to
/// more than it contains.
final class XMLTreeReader: NSObject, XMLParserDelegate {
  /// The maximum depth, greater than that of any real model, so that a malicious file cannot exhaust the stack of a
  /// reader.
  private static let deepest = 64

  private var open: [XMLElementNode] = []
  private var root: XMLElementNode?
  private var refusal: String?
  private var count = 0
  private let limits: XMLLimits

  private init(_ limits: XMLLimits) {
    self.limits = limits
  }

  /// Returns the root element of a file.
  static func root(of data: Data, file: URL, limits: XMLLimits = .model) throws -> XMLElementNode {
    try check(data, file: file, limits)
    let reader = XMLTreeReader(limits)
    // From `Data`, Foundation's parser reads no more than 10 MB.
    let parser = XMLParser(stream: InputStream(data: data))
    parser.shouldResolveExternalEntities = false
    parser.delegate = reader
    let isComplete = parser.parse()
    if let refusal = reader.refusal {
      throw ModelFileError(
        .unsupportedFile, found: refusal, advice: "Save the file with Xcode again.", file: file,
        line: parser.lineNumber)
    }
    guard isComplete, let root = reader.root else {
      guard reader.root != nil || !reader.open.isEmpty else {
        throw notXML("This is not XML.", file)
      }
      let reason = parser.parserError.map { " (\($0.localizedDescription))" } ?? ""
      throw ModelFileError(
        .brokenXML, found: "The XML is truncated or malformed\(reason).",
        advice: "Restore the file from version control.", file: file, line: parser.lineNumber)
    }
    return root
  }

  /// Returns the error for a file that is not XML. It may be a compiled model: those that are not archives are read as
  /// XML.
  private static func notXML(_ found: String, _ file: URL) -> ModelFileError {
    let kind =
      switch file.pathExtension {
      case "", "xcdatamodel": "the contents file of an .xcdatamodel"
      case "mom", "omo": "a compiled model that is complete"
      default: "the right file"
      }
    return ModelFileError(.notXML, found: found, advice: "Check that it is \(kind).", file: file)
  }

  /// Throws an error for input that is unsafe for Foundation's parser.
  private static func check(_ data: Data, file: URL, _ limits: XMLLimits) throws {
    guard data.count <= limits.bytes else {
      throw ModelFileError(
        .unsupportedFile, found: "The XML has \(data.count) bytes; at most \(limits.bytes) are read.",
        advice: "Split the model.", file: file)
    }
    // Foundation's parser on Linux traps if the name of an attribute is not UTF-8.
    guard let text = String(validating: data, as: UTF8.self) else {
      throw notXML("The file is not UTF-8 text.", file)
    }
    // In another encoding, the checks below would miss declarations that the parser sees.
    if let encoding = declaredEncoding(of: text),
      !["UTF-8", "UTF8", "US-ASCII", "ASCII"].contains(encoding.uppercased())
    {
      throw ModelFileError(
        .unsupportedFile, found: "The XML declares the encoding \(encoding.prefix(40)).",
        advice: "Save the file in UTF-8.", file: file)
    }
    // Foundation's parser does not report these declarations to its delegate, so they are searched for here.
    for (declaration, name) in [("<!ENTITY", "entities"), ("<!ATTLIST", "default attributes")]
    where data.range(of: Data(declaration.utf8)) != nil {
      throw ModelFileError(
        .unsupportedFile, found: "The file declares XML \(name).", advice: "Save the file with Xcode again.", file: file
      )
    }
    if let line = lineOfCrowdedElement(in: data) {
      throw ModelFileError(
        .unsupportedFile, found: "An element has more than \(maxAttributeCount) attributes.",
        advice: "Save the file with Xcode again.", file: file, line: line)
    }
  }

  /// The maximum number of attributes of an element; models use up to thirty. The parser compares each with all others.
  private static let maxAttributeCount = 1000

  /// Returns the line of the first element with too many attributes.
  private static func lineOfCrowdedElement(in data: Data) -> Int? {
    data.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress else { return nil }
      let quotes = (UInt8(ascii: "\""), UInt8(ascii: "'"))
      var position = 0
      /// Returns the position of the next occurrence of a byte, or the end.
      func next(_ byte: UInt8, from position: Int) -> Int {
        guard position < bytes.count else { return bytes.count }
        return memchr(start + position, Int32(byte), bytes.count - position).map { UnsafeRawPointer($0) - start }
          ?? bytes.count
      }
      func begins(with text: StaticString) -> Bool {
        let length = text.utf8CodeUnitCount
        return position + length <= bytes.count && memcmp(start + position, text.utf8Start, length) == 0
      }
      /// Moves past the next occurrence of a string, or to the end.
      func skip(past end: StaticString) {
        while position < bytes.count {
          position = next(end.utf8Start[0], from: position)
          if begins(with: end) {
            position += end.utf8CodeUnitCount
            return
          }
          position += 1
        }
      }
      while true {
        position = next(UInt8(ascii: "<"), from: position)
        guard position < bytes.count else { break }
        if begins(with: "<!--") {
          skip(past: "-->")
        } else if begins(with: "<![CDATA[") {
          skip(past: "]]>")
        } else if begins(with: "<?") {
          skip(past: "?>")
        } else {
          let element = position
          var attributes = 0
          while position < bytes.count, bytes[position] != UInt8(ascii: ">") {
            let byte = bytes[position]
            position += 1
            guard byte == quotes.0 || byte == quotes.1 else { continue }
            attributes += 1
            position = next(byte, from: position) + 1
          }
          if attributes > maxAttributeCount {
            return bytes[..<element].count { $0 == UInt8(ascii: "\n") } + 1
          }
        }
      }
      return nil
    }
  }

  /// Returns the encoding of `<?xml … encoding="…"?>`.
  private static func declaredEncoding(of text: String) -> String? {
    guard text.utf8.starts(with: "<?xml".utf8) || text.utf8.starts(with: "\u{FEFF}<?xml".utf8) else { return nil }
    let opening = text.prefix(1000)
    guard let end = opening.range(of: "?>"), let mark = opening[..<end.lowerBound].range(of: "encoding") else {
      return nil
    }
    let rest = opening[mark.upperBound..<end.lowerBound].drop { $0.isWhitespace || $0 == "=" }
    guard let quote = rest.first, quote == "\"" || quote == "'" else { return nil }
    return String(rest.dropFirst().prefix { $0 != quote })
  }

  func parser(
    _ parser: XMLParser, didStartElement name: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    count += 1 + attributes.count
    guard count <= limits.elements else {
      return refuse("The XML has more than \(limits.elements) elements and attributes.", parser)
    }
    guard open.count < Self.deepest else {
      return refuse("Elements are nested more than \(Self.deepest) deep.", parser)
    }
    open.append(XMLElementNode(name: name, line: parser.lineNumber, attributes: attributes))
  }

  private func refuse(_ reason: String, _ parser: XMLParser) {
    // The parser may still call the delegate after this.
    if refusal == nil { refusal = reason }
    parser.abortParsing()
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
