// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Text for a terminal: contains control sequences for styles, and no other control characters.
///
/// Names and values from untrusted files are converted to this type before they are displayed. Characters that clear
/// the screen, overwrite a line or change the text direction are written as `\u{1B}`. Line breaks and tabs are kept.
package struct StyledText: Hashable, Sendable, ExpressibleByStringInterpolation {
  /// The text with control sequences for its styles.
  package private(set) var text: String

  package init(_ plain: String) {
    text = Self.escaped(plain)
  }

  package init(stringLiteral plain: String) {
    self.init(plain)
  }

  /// Creates plain text with interpolated styled text.
  package init(stringInterpolation: Interpolation) {
    text = stringInterpolation.text
  }

  /// Creates plain text between two control sequences.
  init(_ plain: String, after start: String, before end: String) {
    text = start + Self.escaped(plain) + end
  }

  /// Creates text that is already safe.
  init(safe text: String) {
    self.text = text
  }

  /// The interpolation of a literal.
  package struct Interpolation: StringInterpolationProtocol {
    fileprivate var text = ""

    package init(literalCapacity: Int, interpolationCount: Int) {}

    package mutating func appendLiteral(_ literal: String) { text += StyledText.escaped(literal) }

    package mutating func appendInterpolation(_ plain: String) { text += StyledText.escaped(plain) }

    package mutating func appendInterpolation(_ styled: StyledText) { text += styled.text }
  }

  var lines: [StyledText] { text.components(separatedBy: "\n").map(StyledText.init(safe:)) }

  // MARK: Control characters

  /// Returns the text with control characters, except line breaks and tabs, written as `\u{1B}`.
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

  /// Returns whether a character is a C0 or C1 control character, or changes the text direction.
  static func steersTerminal(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A: false
    case 0x00..<0x20, 0x7F..<0xA0, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}

/// A style of text on a terminal.
package enum TextStyle: Int, Hashable, Sendable {
  case bold = 1
  case dim = 2
  case red = 31
  case yellow = 33
}

/// Applies styles to text, or leaves it plain.
package struct TextStyler: Hashable, Sendable {
  /// Whether styles are applied.
  package let isEnabled: Bool

  package init(isEnabled: Bool) {
    self.isEnabled = isEnabled
  }

  /// Creates a styler for an output.
  ///
  /// `--color` decides. With `auto`, the first of these rules decides: `NO_COLOR` (not empty: off), `CLICOLOR_FORCE`
  /// (neither empty nor 0: on), `CLICOLOR=0` and `TERM=dumb` (off), whether the output is a terminal.
  package init(_ choice: ColorChoice, environment: [String: String], isTerminal: Bool) {
    switch choice {
    case .always: isEnabled = true
    case .never: isEnabled = false
    case .auto:
      let force = environment["CLICOLOR_FORCE"] ?? ""
      if !(environment["NO_COLOR"] ?? "").isEmpty {
        isEnabled = false
      } else if !force.isEmpty, force != "0" {
        isEnabled = true
      } else {
        isEnabled = environment["CLICOLOR"] != "0" && environment["TERM"] != "dumb" && isTerminal
      }
    }
  }

  /// Returns the text with styles applied.
  package func style(_ text: String, _ styles: TextStyle...) -> StyledText {
    guard isEnabled, !text.isEmpty, !styles.isEmpty else { return StyledText(text) }
    let codes = styles.map { String($0.rawValue) }.joined(separator: ";")
    return StyledText(text, after: "\u{1B}[\(codes)m", before: "\u{1B}[0m")
  }
}

/// When to color text.
package enum ColorChoice: String, CaseIterable, Sendable {
  case auto, always, never
}
