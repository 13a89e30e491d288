// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The condition of an `#if`, as far as it can be decided for systems other than Apple's.
package enum CompilationCondition {
  package enum Answer {
    case yes, no, unknown
  }

  /// Modules available only on Apple's systems.
  package static let missingModules: Set<String> = [
    "AppKit", "ARKit", "AVFoundation", "ActivityKit", "CloudKit", "Cocoa", "Combine", "Contacts", "CoreFoundation",
    "CoreGraphics", "CoreImage", "CoreLocation", "CoreML", "CoreSpotlight", "CoreText", "Darwin", "EventKit",
    "HealthKit",
    "MapKit", "ObjectiveC", "OSLog", "PhotosUI", "QuartzCore", "StoreKit", "SwiftUI", "TVUIKit", "UIKit",
    "UserNotifications", "WatchConnectivity", "WatchKit", "WidgetKit", "os",
  ]

  private static let present: Set<String> = ["CoreData", "Dispatch", "Foundation", "Glibc", "Swift", "SwiftData"]

  /// Returns whether a condition holds.
  ///
  /// - Parameter text: the condition, without `#if`.
  package static func answer(_ text: String) -> Answer {
    let bytes = Array(text.utf8)
    let words = SourceScanner.tokens(bytes).filter { $0.kind != .comment }
      .map { String(decoding: bytes[$0.range], as: UTF8.self) }
    // No real condition is this long.
    guard words.count <= 256 else { return .unknown }
    var parser = Parser(words: words[...])
    let answer = parser.either()
    return parser.words.isEmpty ? answer : .unknown
  }

  private struct Parser {
    var words: ArraySlice<String>

    mutating func either() -> Answer {
      var answer = both()
      while takeTwice("|") {
        let other = both()
        answer = answer == .yes || other == .yes ? .yes : answer == .no && other == .no ? .no : .unknown
      }
      return answer
    }

    private mutating func both() -> Answer {
      var answer = one()
      while takeTwice("&") {
        let other = one()
        answer = answer == .no || other == .no ? .no : answer == .yes && other == .yes ? .yes : .unknown
      }
      return answer
    }

    private mutating func one() -> Answer {
      guard let word = words.popFirst() else { return .unknown }
      switch word {
      case "!":
        switch one() {
        case .yes: return .no
        case .no: return .yes
        case .unknown: return .unknown
        }
      case "(":
        let answer = either()
        if words.first == ")" { words.removeFirst() }
        return answer
      case "true": return .yes
      case "false": return .no
      default: return known(word, argument())
      }
    }

    private func known(_ word: String, _ argument: [String]) -> Answer {
      switch (word, argument.first) {
      case ("os", "Linux"?): .yes
      case ("os", _?), ("targetEnvironment", _?): .no
      case ("canImport", let module?):
        missingModules.contains(module) ? .no : present.contains(module) ? .yes : .unknown
      default: .unknown
      }
    }

    /// Returns the words between the following parentheses.
    private mutating func argument() -> [String] {
      guard words.first == "(" else { return [] }
      words.removeFirst()
      var found: [String] = []
      var depth = 0
      while let word = words.popFirst() {
        if word == "(" { depth += 1 }
        if word == ")" {
          if depth == 0 { break }
          depth -= 1
        }
        found.append(word)
      }
      return found
    }

    private mutating func takeTwice(_ mark: String) -> Bool {
      guard words.count >= 2, words.first == mark, words[words.startIndex + 1] == mark else { return false }
      words.removeFirst(2)
      return true
    }
  }
}
