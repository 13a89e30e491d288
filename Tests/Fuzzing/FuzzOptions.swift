// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The limits of every input.
enum FuzzLimits {
  /// The processor time in seconds. A debug build takes several times as long.
  #if DEBUG
  static let seconds = 60
  #else
  static let seconds = 10
  #endif
  /// The elapsed time in seconds, for inputs that wait. Beside other work, one can wait for a processor for a minute.
  static let patience = 600.0
  /// The memory in bytes.
  static let memory: UInt64 = 512 << 20
  /// The address space in bytes, so that an input far beyond the limit ends its worker rather than the machine. Address
  /// sanitizers need more than any limit.
  static let addressSpace: UInt64 = isSanitized ? 0 : 4 << 30

  static let isSanitized = ProcessInfo.processInfo.environment["COREDATA_FUZZ_SANITIZED"] != nil
}

/// The arguments of the program.
struct FuzzOptions {
  struct Mistake: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  /// The task of the process.
  enum Role {
    case supervise
    /// Run inputs; started by the supervisor.
    case work
    /// Write an input to a directory.
    case save
    case makeSamples
  }

  var role = Role.supervise
  var kinds = FuzzKind.allCases
  /// The seed of the first input of each kind. Input number i has the seed `seed + i`.
  var seed: UInt64 = 1
  /// The number of inputs, of all kinds by their shares or of the named kind; nil for the default.
  var count: UInt64?
  var isFixed = false
  var usesFixtures = true
  var jobs = ProcessInfo.processInfo.activeProcessorCount
  /// The directory for findings and kept inputs.
  var output = URL(fileURLWithPath: ".build/fuzz")
  var corpus = URL(fileURLWithPath: "Tests/Fuzzing/Corpus")
  /// The directory for a worker's files.
  var directory: URL?

  static let help = """
    Fuzzing [--kind KIND,...] [--seed N] [--count N] [--fixed] [--jobs N] [--no-fixtures] [--output DIR] [--corpus DIR]
    Fuzzing --save DIR --kind KIND --seed N    writes the input with this seed
    Fuzzing --make-samples                     makes the stores that inputs are made from anew
    Kinds: \(FuzzKind.allCases.map(\.rawValue).joined(separator: ", "))
    """

  init(_ arguments: [String]) throws {
    var left = arguments[...]
    func value(_ name: String) throws -> String {
      guard let value = left.popFirst() else { throw Mistake("\(name) needs a value.\n\(Self.help)") }
      return value
    }
    func number(_ name: String) throws -> UInt64 {
      let text = try value(name)
      guard let number = UInt64(text) else { throw Mistake("\(name) needs a number, not \(text).") }
      return number
    }
    func url(_ name: String) throws -> URL { URL(fileURLWithPath: try value(name)) }
    while let name = left.popFirst() {
      switch name {
      case "--kind":
        kinds = try value(name).split(separator: ",").map { text in
          guard let kind = FuzzKind(rawValue: String(text)) else { throw Mistake("No kind \(text).\n\(Self.help)") }
          return kind
        }
      case "--seed": seed = try number(name)
      case "--count": count = try number(name)
      case "--fixed": (isFixed, usesFixtures) = (true, false)
      case "--jobs": jobs = max(1, Int(try number(name)))
      case "--no-fixtures": usesFixtures = false
      case "--output": output = try url(name)
      case "--corpus": corpus = try url(name)
      case "--work": (role, directory) = (.work, try url(name))
      case "--save": (role, directory) = (.save, try url(name))
      case "--make-samples": role = .makeSamples
      default: throw Mistake("No option \(name).\n\(Self.help)")
      }
    }
  }

  /// Returns the number of inputs of a kind to run.
  func count(of kind: FuzzKind) -> UInt64 {
    if isFixed { return count ?? kind.fixedCount }
    if kinds.count == 1 { return count ?? 10_000 }
    let shares = kinds.reduce(0) { $0 + $1.share }
    return max(1, (count ?? 1_000_000) * UInt64(kind.share) / UInt64(shares))
  }

  /// The fixtures, found like in the tests; nil if there are none or they are disabled.
  var fixtures: URL? {
    guard usesFixtures else { return nil }
    let place = ProcessInfo.processInfo.environment["COREDATA_FIXTURES"] ?? "../shared/fixtures"
    return FileManager.default.fileExists(atPath: place) ? URL(fileURLWithPath: place).resolvingSymlinksInPath() : nil
  }
}
