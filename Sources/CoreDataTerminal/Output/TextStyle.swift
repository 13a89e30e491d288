// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// How a piece of text stands out on a terminal.
package enum TextStyle: Int, Hashable, Sendable {
  case bold = 1
  case dim = 2
  case underline = 4
  case red = 31
  case green = 32
  case yellow = 33
  case blue = 34
  case magenta = 35
  case cyan = 36
}

/// Puts styles on text, or leaves it plain.
package struct TextStyler: Hashable, Sendable {
  /// Whether styles are written at all.
  package let isEnabled: Bool

  /// A styler that is known to be on or off.
  package init(isEnabled: Bool) {
    self.isEnabled = isEnabled
  }

  /// A styler for an output.
  ///
  /// `--color` decides; with `auto` in this order: `NO_COLOR` (not empty: off), `CLICOLOR_FORCE` (not empty or 0: on),
  /// `CLICOLOR=0` and `TERM=dumb` (off), whether the output is a terminal.
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

  /// The text with styles around it.
  package func style(_ text: String, _ styles: TextStyle...) -> StyledText {
    guard isEnabled, !text.isEmpty, !styles.isEmpty else { return StyledText(text) }
    let codes = styles.map { String($0.rawValue) }.joined(separator: ";")
    return StyledText(text, after: "\u{1B}[\(codes)m", before: "\u{1B}[0m")
  }
}

/// When text is coloured.
package enum ColorChoice: String, CaseIterable, Sendable {
  case auto, always, never
}
