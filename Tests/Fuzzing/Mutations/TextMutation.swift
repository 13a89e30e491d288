// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Damage to XML and JSON that keeps them well formed more often than damaged bytes.
enum TextMutation {
  static let values = [
    "", "0", "1", "-1", "YES", "NO", "32767", "32768", "-32769", "2147483647", "2147483648", "4294967296",
    "9223372036854775807", "-9223372036854775808", "9223372036854775808", "99999999999999999999", "1e308", "1e400",
    "-0", "nan", "inf", "NaN", "0x10", "1.5", "../../x", "/", "a/b", "..", "\u{0}", "ä", "e\u{301}", "😀", "%@", "%",
    "{", "'", "name", "Integer 16", "String", "Transformable", "Composite", "Undefined", "Binary", "toMany",
    "SELF", "ANY a.b == 1", "TRUEPREDICATE", "@count", "FUNCTION(1, 'a')", "&lt;&amp;", "$source", "NSObject",
  ]

  /// Changes some tokens.
  ///
  /// - Parameter names: Further values, which occur in files of the format.
  static func damage(
    _ data: Data, with other: Data? = nil, names: [String] = [], _ random: inout FuzzRandom
  ) -> Data {
    if random.oneIn(4) { return ByteMutation.damage(data, with: other, &random) }
    var bytes = [UInt8](data)
    for _ in 0..<random.small(6) {
      switch random.below(6) {
      case 0, 1, 2: changeValue(&bytes, names, &random)
      case 3: moveLine(&bytes, &random)
      case 4: repeatLine(&bytes, &random)
      default: changeName(&bytes, &random)
      }
    }
    return Data(bytes)
  }

  private static let quote = UInt8(ascii: "\"")

  /// Returns some ranges between quotation marks, from a random position on, because files are long.
  private static func quoted(_ bytes: [UInt8], from start: Int, atMost limit: Int) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var open: Int?
    var place = start
    // The search may start inside a tag or a value, so the first quotation mark may be a closing one. That damages too.
    while place < bytes.count, found.count < limit {
      if bytes[place] == quote {
        if let begin = open {
          found.append(begin..<place)
          open = nil
        } else {
          open = place + 1
        }
      }
      place += 1
    }
    return found
  }

  private static func changeValue(_ bytes: inout [UInt8], _ names: [String], _ random: inout FuzzRandom) {
    let found = quoted(bytes, from: random.below(bytes.count), atMost: 3)
    guard !found.isEmpty else { return }
    let range = random.pick(found)
    let new: [UInt8]
    switch random.below(8) {
    case 0:
      let others = quoted(bytes, from: random.below(bytes.count), atMost: 2)
      new = others.isEmpty ? [] : Array(bytes[random.pick(others)])
    case 1:
      let base = Array(random.pick(values).utf8)
      new = Array(repeating: base, count: random.pick([2, 10, 300, 5_000])).flatMap { $0 }
    case 2: new = Array(PredicateGrammar.predicate(&random).escapedForXML.utf8)
    default: new = Array((names.isEmpty || random.oneIn(2) ? random.pick(values) : random.pick(names)).utf8)
    }
    bytes.replaceSubrange(range, with: new)
  }

  private static func lineRange(_ bytes: [UInt8], around place: Int) -> Range<Int> {
    guard !bytes.isEmpty else { return 0..<0 }
    let newline = UInt8(ascii: "\n")
    var start = place
    while start > 0, bytes[start - 1] != newline { start -= 1 }
    var end = place
    while end < bytes.count, bytes[end] != newline { end += 1 }
    return start..<min(end + 1, bytes.count)
  }

  private static func moveLine(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
    let range = lineRange(bytes, around: random.below(bytes.count))
    let line = Array(bytes[range])
    bytes.removeSubrange(range)
    guard !random.oneIn(3), !bytes.isEmpty else { return }
    bytes.insert(contentsOf: line, at: lineRange(bytes, around: random.below(bytes.count)).lowerBound)
  }

  private static func repeatLine(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
    let range = lineRange(bytes, around: random.below(bytes.count))
    let line = Array(bytes[range])
    let count = random.pick([1, 1, 2, 50, 500])
    guard line.count * count < 1 << 18 else { return }
    bytes.insert(contentsOf: Array(repeating: line, count: count).flatMap { $0 }, at: range.lowerBound)
  }

  /// Renames an attribute of an element to another one used in such files.
  private static func changeName(_ bytes: inout [UInt8], _ random: inout FuzzRandom) {
    let names = [
      "name", "parentEntity", "destinationEntity", "inverseName", "inverseEntity", "maxCount", "minCount", "toMany",
      "ordered", "attributeType", "defaultValueString", "minValueString", "maxValueString", "defaultDateTimeInterval",
      "derivationExpression", "derived", "isAbstract", "representedClassName", "elementID", "versionHashModifier",
      "predicateString", "fetchLimit", "regularExpressionString", "valueTransformerName", "usesScalarValueType",
    ]
    let start = random.below(bytes.count)
    guard let equals = bytes[start...].firstIndex(of: UInt8(ascii: "=")) else { return }
    var begin = equals
    while begin > 0, bytes[begin - 1] > UInt8(ascii: " "), equals - begin < 60 { begin -= 1 }
    bytes.replaceSubrange(begin..<equals, with: Array(random.pick(names).utf8))
  }
}

extension String {
  /// Returns the text with characters replaced that XML and JSON strings must escape.
  var escapedForXML: String {
    var result = ""
    for character in self {
      switch character {
      case "<": result += "&lt;"
      case "&": result += "&amp;"
      case "\"": result += "&quot;"
      default: result.append(character)
      }
    }
    return result
  }
}
