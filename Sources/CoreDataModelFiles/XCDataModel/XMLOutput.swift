// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An XML element to write, with its attributes in Xcode's order.
package struct XMLOutput {
  let name: String
  private var attributes: [(name: String, value: String)] = []
  var children: [XMLOutput] = []

  /// Creates an element without attributes.
  init(_ name: String) {
    self.name = name
  }

  /// Adds an attribute, unless the value is nil.
  mutating func set(_ name: String, _ value: String?) {
    if let value { attributes.append((name, value)) }
  }

  /// Adds an attribute with the value `YES` if the flag is true.
  mutating func set(_ name: String, flag: Bool) {
    if flag { set(name, "YES") }
  }

  /// The whole file in Xcode's format: indented by four spaces per level, without a line break at the end.
  var document: String {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"
    write(into: &text, indentation: 0)
    return text
  }

  private func write(into text: inout String, indentation: Int) {
    let margin = "\n" + String(repeating: " ", count: indentation)
    text += margin + "<" + name
    for attribute in attributes { text += " \(attribute.name)=\"\(Self.escaped(attribute.value))\"" }
    // The root always has a closing tag.
    guard !children.isEmpty || indentation == 0 else { return text += "/>" }
    text += ">"
    for child in children { child.write(into: &text, indentation: indentation + 4) }
    text += margin + "</" + name + ">"
  }

  /// Escapes text between tags.
  static func escapedText(_ value: String) -> String { escaped(value, isAttribute: false) }

  /// Escapes the value of an attribute.
  package static func escaped(_ value: String) -> String { escaped(value, isAttribute: true) }

  private static func escaped(_ value: String, isAttribute: Bool) -> String {
    var result = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      // A parser would turn it into a line feed or a space.
      case "\r": result += "&#13;"
      case "\"" where isAttribute: result += "&quot;"
      // A parser would turn these into spaces.
      case "\n" where isAttribute: result += "&#10;"
      case "\t" where isAttribute: result += "&#9;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
