// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A string for a regular expression, for the constructs used in models: literals, classes, groups, alternatives, and
/// counts. The caller must check whether it matches.
struct PatternSample {
  private var rest: Substring
  /// Selects among characters, so that samples differ.
  private var number: Int

  /// Returns a sample.
  ///
  /// - Parameter number: a number that makes samples differ.
  static func text(_ pattern: String, _ number: Int) -> String {
    var sample = PatternSample(rest: pattern[...], number: number)
    return sample.alternatives()
  }

  /// Returns a string for the first of several alternatives.
  private mutating func alternatives() -> String {
    let first = sequence()
    while rest.first == "|" {
      rest.removeFirst()
      _ = sequence()
    }
    return first
  }

  private mutating func sequence() -> String {
    var result = ""
    while let next = rest.first, next != "|", next != ")" {
      let before = rest
      let item = element()
      // Each repetition of an element selects new characters.
      let end = rest
      let least = count()
      let after = rest
      for position in 0..<least {
        if position == 0 {
          result += item
        } else {
          rest = before[before.startIndex..<end.startIndex]
          result += element()
        }
      }
      rest = after
    }
    return result
  }

  private mutating func element() -> String {
    switch rest.removeFirst() {
    case "(":
      while rest.first == "?" || rest.first == ":" || rest.first == "!" || rest.first == "=" { rest.removeFirst() }
      let text = alternatives()
      if rest.first == ")" { rest.removeFirst() }
      return text
    case "[": return choose(characters())
    case "\\": return escaped()
    case ".": return choose(Array("abcxyz"))
    case "^", "$": return ""
    case let other: return String(other)
    }
  }

  private mutating func escaped() -> String {
    guard let next = rest.popFirst() else { return "" }
    switch next {
    case "d": return choose(Array("0123456789"))
    case "w": return choose(Array("abcdefgh0123"))
    case "s": return " "
    case "D", "S", "W": return next == "W" ? "-" : "x"
    case "b", "A", "z", "Z", "B": return ""
    default: return String(next)
    }
  }

  /// Returns the characters of a class, or some others for a negated class.
  private mutating func characters() -> [Character] {
    var isExcluding = false
    if rest.first == "^" {
      isExcluding = true
      rest.removeFirst()
    }
    var characters: [Character] = []
    while let next = rest.popFirst(), next != "]" || characters.isEmpty {
      if next == "\\" {
        let kind = rest.first
        let one = escaped()
        characters += kind == "d" ? Array("0123456789") : kind == "w" ? Array("abcdefgh0123") : Array(one)
      } else if rest.first == "-", let last = rest.dropFirst().first, last != "]" {
        rest.removeFirst(2)
        characters += Self.range(next, last)
      } else {
        characters.append(next)
      }
    }
    return isExcluding ? Array("abcXYZ019 -_").filter { !characters.contains($0) } : characters
  }

  private static func range(_ first: Character, _ last: Character) -> [Character] {
    guard let start = first.unicodeScalars.first?.value, let end = last.unicodeScalars.first?.value, start <= end else {
      return [first]
    }
    return (start...min(end, start + 127)).compactMap { Unicode.Scalar($0).map(Character.init) }
  }

  /// Returns the minimum count of the quantifier after an element, at most 64; 2 for one or more.
  private mutating func count() -> Int {
    let result: Int
    switch rest.first {
    case "*", "?":
      rest.removeFirst()
      result = 0
    case "+":
      rest.removeFirst()
      result = 2
    case "{":
      guard let end = rest.firstIndex(of: "}") else { return 1 }
      let limits = rest[rest.index(after: rest.startIndex)..<end].split(
        separator: ",", omittingEmptySubsequences: false)
      rest = rest[rest.index(after: end)...]
      result = min(64, limits.first.flatMap { Int($0) } ?? 0)
    default: return 1
    }
    // Reluctant and possessive quantifiers have the same samples.
    if rest.first == "?" || rest.first == "+" { rest.removeFirst() }
    return result
  }

  private mutating func choose(_ characters: [Character]) -> String {
    guard !characters.isEmpty else { return "" }
    defer { number = number / 3 + number % 3 * 7919 + 1 }
    return String(characters[number % characters.count])
  }
}
