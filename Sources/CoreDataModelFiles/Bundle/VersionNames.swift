// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The order of versions by their names, as a person would sort them: numbers count as numbers, and case and the signs
/// between words do not matter, so that `V2` comes before `V 10`.
enum VersionNames {
  private enum Part: Comparable {
    case number(digits: Int, String)
    case word(String)
  }

  static func precede(_ left: String, _ right: String) -> Bool {
    let (a, b) = (parts(left), parts(right))
    return a == b ? left < right : a.lexicographicallyPrecedes(b)
  }

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
