// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The order of version names, as a person would sort them: numbers are compared as numbers, and case and punctuation
/// are ignored, so that `V2` comes before `V 10`.
enum VersionNames {
  private enum Part: Comparable {
    case number(digits: Int, String)
    case word(String)

    var word: String? {
      if case .word(let word) = self { return word }
      return nil
    }
  }

  static func precede(_ left: String, _ right: String) -> Bool {
    let (a, b) = (parts(left), parts(right))
    return a == b ? left < right : a.lexicographicallyPrecedes(b)
  }

  /// Returns the names ordered by a series of numbers, as positions. `Model`, `Model 2` and `Model 10` form a series;
  /// `Final` belongs to none. A name without a number begins the series that shares its words.
  static func series(_ names: [String]) -> [[Int]] {
    let all = names.map(parts)
    var members: [[String]: [Int]] = [:]
    var plain: [(position: Int, words: [String])] = []
    for (position, parts) in all.enumerated() {
      let words = parts.prefix { $0.word != nil }.compactMap(\.word)
      if words.count < parts.count {
        members[words, default: []].append(position)
      } else {
        plain.append((position, words))
      }
    }
    for (position, words) in plain where !words.isEmpty {
      let fitting = members.keys.filter { $0.joined().hasPrefix(words.joined()) }
      let shortest = fitting.min { ($0.count, $0.joined(separator: " ")) < ($1.count, $1.joined(separator: " ")) }
      guard let series = shortest else { continue }
      members[series]?.append(position)
    }
    return members.values.filter { $0.count > 1 }.map { $0.sorted { precede(names[$0], names[$1]) } }
      .sorted { $0[0] < $1[0] }
  }

  /// Whether all names form one series, which determines their order.
  static func suffice(_ names: [String]) -> Bool { names.count < 2 || series(names).first?.count == names.count }

  private static func parts(_ name: String) -> [Part] {
    var parts: [Part] = []
    var run = ""
    func end() {
      guard let first = run.first else { return }
      if first.isNumber {
        let significant = String(run.drop { $0 == "0" })
        parts.append(.number(digits: significant.count, significant))
      } else {
        parts.append(.word(run))
      }
      run = ""
    }
    for character in name.lowercased() {
      let isDigit = character.isASCII && character.isNumber
      guard isDigit || character.isLetter else {
        end()
        continue
      }
      if let last = run.last, (last.isASCII && last.isNumber) != isDigit { end() }
      run.append(character)
    }
    end()
    return parts
  }
}
