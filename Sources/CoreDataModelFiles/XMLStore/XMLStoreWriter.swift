// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension XMLStoreDocument {
  /// Base64 in lines of at most 76 characters.
  private static let base64Options: Data.Base64EncodingOptions = [.lineLength76Characters, .endLineWithLineFeed]

  /// Returns binary data as text.
  package static func text(of data: Data) -> String { data.base64EncodedString(options: base64Options) + "\n" }

  /// Writes the file, in the format of Apple's tools.
  ///
  /// - Throws: `PropertyLists.Unwritable` for metadata that no property list can contain.
  package func data() throws -> Data {
    var text = """
      <?xml version="1.0" standalone="yes"?>
      <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

      <database>
          <databaseInfo>
              <version>\(Self.version)</version>
              <UUID>\(XMLOutput.escapedText(uuid))</UUID>
              <nextObjectID>\(lastNumber)</nextObjectID>
              <metadata>
                  <plist version="1.0">

      """
    try Self.write(ArchiveValue(foundationValue: metadata), into: &text, indentation: 16)
    text += """
                  </plist>
              </metadata>
          </databaseInfo>

      """
    for object in objects { Self.write(object, into: &text) }
    return Data((text + "</database>").utf8)
  }

  private static func write(_ object: Object, into text: inout String) {
    text += "    <object type=\"\(XMLOutput.escaped(object.type))\" id=\"z\(object.number)\">\n"
    for attribute in object.attributes {
      text += "        <attribute name=\"\(XMLOutput.escaped(attribute.name))\" type=\"\(attribute.type)\">"
      text += XMLStoreText.escaped(attribute.text) + "</attribute>\n"
    }
    for relationship in object.relationships {
      text += "        <relationship name=\"\(XMLOutput.escaped(relationship.name))\""
      text += " type=\"\(relationship.isToMany ? "0/0" : "1/1")\""
      text += " destination=\"\(XMLOutput.escaped(relationship.destination))\""
      if !relationship.objects.isEmpty {
        text += " idrefs=\"\(relationship.objects.map { "z\($0)" }.joined(separator: " "))\""
      }
      text += "></relationship>\n"
    }
    text += "    </object>\n"
  }

  private static func write(_ value: ArchiveValue, into text: inout String, indentation: Int) throws {
    let margin = String(repeating: " ", count: indentation)
    switch value {
    case .boolean(let flag): text += "\(margin)<\(flag)/>\n"
    case .integer(let number): text += "\(margin)<integer>\(number)</integer>\n"
    case .unsigned(let number): text += "\(margin)<integer>\(number)</integer>\n"
    case .real(let number): text += "\(margin)<real>\(number)</real>\n"
    case .date(let date): text += "\(margin)<date>\(try dateText(date))</date>\n"
    case .data(let data):
      let lines = data.base64EncodedString(options: base64Options).split(separator: "\n")
      text += "\(margin)<data>\n" + lines.map { "\t\t\($0)\n" }.joined() + "\t\t</data>\n"
    case .string(let string): text += "\(margin)<string>\(try plain(string))</string>\n"
    case .uid: throw PropertyLists.Unwritable(path: "", found: "a reference of a keyed archive")
    case .array(let elements):
      text += "\(margin)<array>\n"
      for element in elements { try write(element, into: &text, indentation: indentation + 4) }
      text += "\(margin)</array>\n"
    case .dictionary(let entries):
      text += "\(margin)<dict>\n"
      for (key, value) in entries.sorted(by: { $0.key < $1.key }) {
        text += "\(margin)    <key>\(try plain(key))</key>\n"
        try write(value, into: &text, indentation: indentation + 4)
      }
      text += "\(margin)</dict>\n"
    }
  }

  /// Returns escaped text. Throws for control characters, which XML cannot contain and XML property lists cannot
  /// escape.
  private static func plain(_ text: String) throws -> String {
    let isPlain = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0 != "\u{FFFE}" && $0 != "\u{FFFF}" || ["\t", "\n", "\r"].contains($0)
    }
    guard isPlain else { throw PropertyLists.Unwritable(path: text, found: "a string with control characters") }
    return XMLOutput.escapedText(text)
  }

  /// Returns a date without fractions of a second, as in XML property lists.
  private static func dateText(_ date: Date) throws -> String {
    let text = date.formatted(.iso8601)
    guard XMLPropertyList.date(text) != nil else {
      throw PropertyLists.Unwritable(path: text, found: "a date that no XML property list can contain")
    }
    return text
  }
}
