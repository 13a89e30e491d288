// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An element of an XML file that is written, with its attributes in the order that Xcode gives them.
struct XMLOutput {
  let name: String
  private var attributes: [(name: String, value: String)] = []
  var children: [XMLOutput] = []

  /// Makes an element without attributes.
  init(_ name: String) {
    self.name = name
  }

  /// Adds an attribute; nil adds none.
  mutating func set(_ name: String, _ value: String?) {
    if let value { attributes.append((name, value)) }
  }

  /// Adds an attribute that says yes; no is said by its absence.
  mutating func set(_ name: String, flag: Bool) {
    if flag { set(name, "YES") }
  }

  /// The whole file, as Xcode lays it out: four spaces a level, and no line break at the end.
  var document: String {
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>"
    write(into: &text, indentation: 0)
    return text
  }

  private func write(into text: inout String, indentation: Int) {
    let margin = "\n" + String(repeating: " ", count: indentation)
    text += margin + "<" + name
    for attribute in attributes { text += " \(attribute.name)=\"\(Self.escaped(attribute.value))\"" }
    // The root is closed by a tag of its own always.
    guard !children.isEmpty || indentation == 0 else { return text += "/>" }
    text += ">"
    for child in children { child.write(into: &text, indentation: indentation + 4) }
    text += margin + "</" + name + ">"
  }

  /// The text between tags with entities for what XML reserves there.
  static func escapedText(_ value: String) -> String {
    var result = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      // A parser would turn it into a line feed.
      case "\r": result += "&#13;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }

  /// The text with entities for what XML reserves.
  static func escaped(_ value: String) -> String {
    var result = ""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      // A parser would turn these into spaces.
      case "\n": result += "&#10;"
      case "\r": result += "&#13;"
      case "\t": result += "&#9;"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
