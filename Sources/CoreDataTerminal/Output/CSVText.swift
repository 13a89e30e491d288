// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Lines of comma-separated values, as RFC 4180 describes them, with a line feed at the end.
package enum CSVText {
  /// Returns a line. A nil field is empty; an empty string is quoted, so that they differ.
  package static func line(_ fields: [String?]) -> String {
    // A line of one empty field would be an empty line, which readers skip.
    if fields.count == 1, fields[0] == nil { return "\n" }
    return fields.map { $0.map(quoted) ?? "" }.joined(separator: ",") + "\n"
  }

  private static func quoted(_ field: String) -> String {
    let needsQuotes =
      field.isEmpty || field.first == " " || field.last == " "
      || field.unicodeScalars.contains { $0 == "," || $0 == "\"" || $0 == "\n" || $0 == "\r" }
    guard needsQuotes else { return field }
    var text = "\""
    for scalar in field.unicodeScalars {
      if scalar == "\"" { text.unicodeScalars.append("\"") }
      text.unicodeScalars.append(scalar)
    }
    return text + "\""
  }
}
