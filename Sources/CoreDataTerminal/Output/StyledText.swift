// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Text for a terminal: the styles of this tool, and otherwise no control character that could steer the terminal.
///
/// Names and values of files that strangers made go through here on their way to people. Characters that clear a screen,
/// write over a line or turn the direction of text around are written as `\u{1B}`; line breaks and tabs stay.
package struct StyledText: Hashable, Sendable, ExpressibleByStringInterpolation {
  /// The text with control sequences for its styles.
  package private(set) var text: String

  /// Plain text.
  package init(_ plain: String) {
    text = Self.escaped(plain)
  }

  /// Plain text.
  package init(stringLiteral plain: String) {
    self.init(plain)
  }

  /// Plain text with styled text in it.
  package init(stringInterpolation: Interpolation) {
    text = stringInterpolation.text
  }

  /// Plain text between two control sequences.
  init(_ plain: String, after start: String, before end: String) {
    text = start + Self.escaped(plain) + end
  }

  /// Text that is safe already.
  init(safe text: String) {
    self.text = text
  }

  /// What a literal is made of.
  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { text += StyledText.escaped(literal) }

    package mutating func appendInterpolation(_ plain: String) { text += StyledText.escaped(plain) }

    package mutating func appendInterpolation(_ styled: StyledText) { text += styled.text }
  }

  /// The lines of the text.
  var lines: [StyledText] { text.components(separatedBy: "\n").map(StyledText.init(safe:)) }

  // MARK: Control characters

  /// The text with control characters, but for line breaks and tabs, written as `\u{1B}`.
  package static func escaped(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: steersTerminal) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if steersTerminal(scalar) {
        result.append(contentsOf: "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".unicodeScalars)
      } else {
        result.append(scalar)
      }
    }
    return String(result)
  }

  /// Whether a character is a control character, of the first or the second block, or turns the direction of text around.
  static func steersTerminal(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A: false
    case 0x00..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
