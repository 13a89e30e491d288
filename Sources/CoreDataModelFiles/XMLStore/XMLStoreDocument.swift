// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The contents of a Core Data XML store, as strings: its metadata, and objects with attributes and relationships.
///
/// The format is that of the mapping models in Xcode's sources (`xcmapping.xml`), which are XML stores.
package struct XMLStoreDocument {
  package struct Attribute: Hashable {
    package let name: String
    package let type: String
    package let text: String

    package init(name: String, type: String, text: String) {
      self.name = name
      self.type = type
      self.text = text
    }
  }

  package struct Relationship: Hashable {
    package let name: String
    package let isToMany: Bool
    package let destination: String
    /// The numbers of the related objects, in order.
    package let objects: [Int64]

    package init(name: String, isToMany: Bool, destination: String, objects: [Int64]) {
      self.name = name
      self.isToMany = isToMany
      self.destination = destination
      self.objects = objects
    }
  }

  package struct Object {
    /// The entity's name in capitals.
    package let type: String
    package let number: Int64
    /// The line in the file; 0 for an object that was not read from one.
    package let line: Int
    package var attributes: [Attribute] = []
    package var relationships: [Relationship] = []

    package init(type: String, number: Int64, line: Int = 0) {
      self.type = type
      self.number = number
      self.line = line
    }
  }

  /// The UUID, which has its own XML element.
  package var uuid: String
  /// The metadata without UUID and type.
  package var metadata: [String: Any]
  /// The greatest number that any object has had.
  package var lastNumber: Int64
  package var objects: [Object]

  package init(uuid: String, metadata: [String: Any], lastNumber: Int64, objects: [Object]) {
    self.uuid = uuid
    self.metadata = metadata
    self.lastNumber = lastNumber
    self.objects = objects
  }

  /// The number before that of the first object, as in files of Apple's tools.
  package static let numberBeforeFirst: Int64 = 101
  /// The version of the format.
  static let version = "134481920"
}

/// The text of attributes. Characters that XML cannot contain are written as `\u` and the four hexadecimal digits of
/// their UTF-16 code units, low byte first.
enum XMLStoreText {
  static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: needsEscape) else { return XMLOutput.escapedText(text) }
    var result = ""
    for scalar in text.unicodeScalars {
      if needsEscape(scalar) {
        let unit = UInt16(truncatingIfNeeded: scalar.value)
        result += "\\u" + hexadecimal(UInt8(unit & 0xFF)) + hexadecimal(UInt8(unit >> 8))
      } else {
        result.unicodeScalars.append(scalar)
      }
    }
    return XMLOutput.escapedText(result)
  }

  /// Whether a character is escaped: control characters, two noncharacters, and the backslash, which begins an escape.
  /// All have one code unit.
  private static func needsEscape(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\t", "\n", "\r": false
    case "\\", "\u{FFFE}", "\u{FFFF}": true
    default: scalar.value < 0x20
    }
  }

  static func unescaped(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    var units: [UInt16] = []
    let given = Array(text.utf16)
    var position = 0
    while position < given.count {
      if let unit = escape(at: position, in: given) {
        units.append(unit)
        position += 6
      } else {
        units.append(given[position])
        position += 1
      }
    }
    return String(decoding: units, as: UTF16.self)
  }

  private static func escape(at position: Int, in units: [UInt16]) -> UInt16? {
    guard position + 6 <= units.count, units[position] == 0x5C, units[position + 1] == 0x75 else { return nil }
    var digits: [UInt16] = []
    for unit in units[position + 2..<position + 6] {
      guard let scalar = Unicode.Scalar(unit), let digit = Character(scalar).hexDigitValue, scalar.isASCII else {
        return nil
      }
      digits.append(UInt16(digit))
    }
    return digits[2] << 12 | digits[3] << 8 | digits[0] << 4 | digits[1]
  }

  private static func hexadecimal(_ byte: UInt8) -> String {
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "0" + digits : digits
  }
}
