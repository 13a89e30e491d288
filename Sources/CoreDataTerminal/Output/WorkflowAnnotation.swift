// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An annotation in a GitHub workflow: `::error file=…,line=…,title=…::message`.
package struct WorkflowAnnotation: Hashable, Sendable {
  /// The severity of an annotation.
  package enum Level: String, Hashable, Sendable {
    case error, warning, notice
  }

  package var level: Level
  package var message: String
  package var title: String?
  /// The path of the annotated file.
  package var file: String?
  /// The line in the file, from 1.
  package var line: Int?

  /// Creates an annotation.
  package init(_ level: Level, _ message: String, title: String? = nil, file: String? = nil, line: Int? = nil) {
    self.level = level
    self.message = message
    self.title = title
    self.file = file
    self.line = line
  }

  /// The workflow command: one line without a line break.
  package var text: String {
    let properties = [("file", file), ("line", line.map { String($0) }), ("title", title)].compactMap { name, value in
      value.map { "\(name)=" + Self.escaped($0, also: [(":", "%3A"), (",", "%2C")]) }
    }
    let head = properties.isEmpty ? level.rawValue : level.rawValue + " " + properties.joined(separator: ",")
    return "::\(head)::" + Self.escaped(message)
  }

  private static func escaped(_ text: String, also pairs: [(String, String)] = []) -> String {
    ([("%", "%25"), ("\r", "%0D"), ("\n", "%0A")] + pairs).reduce(text) { text, pair in
      text.replacingOccurrences(of: pair.0, with: pair.1, options: .literal)
    }
  }
}
