// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Results of checks as JUnit XML, which continuous integration services read.
package struct TestReport: Hashable, Sendable {
  /// A check and its result.
  package struct Case: Hashable, Sendable {
    package var name: String
    /// The duration in seconds; nil if it was not measured.
    package var time: Double?
    /// The problems, one line each; empty if the check passed.
    package var failures: [String]
    /// The reason why the check was skipped; nil if it was run.
    package var skipped: String?

    package init(_ name: String, time: Double? = nil, failures: [String] = [], skipped: String? = nil) {
      self.name = name
      self.time = time
      self.failures = failures
      self.skipped = skipped
    }
  }

  package let name: String
  package var cases: [Case] = []

  package init(_ name: String) {
    self.name = name
  }

  /// The contents of the XML file.
  package var xml: String {
    let failed = cases.count { !$0.failures.isEmpty }
    let skipped = cases.count { $0.skipped != nil }
    let title = Self.escaped(name)
    var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
    text += "  <testsuite name=\"\(title)\" tests=\"\(cases.count)\" failures=\"\(failed)\" skipped=\"\(skipped)\">\n"
    for item in cases {
      let time = item.time.map { " time=\"\(Self.seconds($0))\"" } ?? ""
      text += "    <testcase classname=\"\(title)\" name=\"\(Self.escaped(item.name))\"\(time)"
      if let first = item.failures.first {
        text += ">\n      <failure message=\"\(Self.escaped(first))\">"
        text += Self.escaped(item.failures.joined(separator: "\n")) + "</failure>\n    </testcase>\n"
      } else if let reason = item.skipped {
        text += ">\n      <skipped message=\"\(Self.escaped(reason))\"/>\n    </testcase>\n"
      } else {
        text += "/>\n"
      }
    }
    return text + "  </testsuite>\n</testsuites>\n"
  }

  private static func seconds(_ time: Double) -> String {
    let milliseconds = Int((time * 1000).rounded())
    let rest = String(milliseconds % 1000)
    return "\(milliseconds / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// Returns the text escaped for an attribute or an element. XML cannot represent most control characters.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n": result += "&#10;"
      case "\t": result += "&#9;"
      case "\u{FFFE}", "\u{FFFF}": result += "\u{FFFD}"
      case _ where StyledText.steersTerminal(scalar): result += "\u{FFFD}"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
