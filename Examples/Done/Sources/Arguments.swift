// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// An invalid command line.
struct UsageMistake: Error {
  let message: String
}

/// The words of a command line, consumed one by one.
struct Arguments {
  private var words: [String]

  init(_ words: [String]) {
    self.words = words
  }

  mutating func next() -> String? {
    words.isEmpty ? nil : words.removeFirst()
  }

  mutating func flag(_ name: String) -> Bool {
    guard let place = words.firstIndex(of: name) else { return false }
    words.remove(at: place)
    return true
  }

  mutating func value(_ name: String) throws -> String? {
    guard let place = words.firstIndex(of: name) else { return nil }
    guard place + 1 < words.count else { throw UsageMistake(message: "\(name) needs a value.") }
    words.remove(at: place)
    return words.remove(at: place)
  }

  mutating func number(_ name: String) throws -> Int {
    guard let text = try value(name) else { return 0 }
    guard let number = Int(text), number >= 0 else { throw UsageMistake(message: "\(name) needs a number.") }
    return number
  }

  mutating func url() throws -> URL {
    guard let path = next() else { throw UsageMistake(message: "The path of the store is missing.") }
    return URL(fileURLWithPath: path)
  }

  func end() throws {
    guard let word = words.first else { return }
    throw UsageMistake(message: "Unexpected argument '\(word)'.")
  }
}
