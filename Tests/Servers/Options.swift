// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The arguments of the program.
struct Options {
  struct Mistake: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
  }

  enum Program: String, CaseIterable {
    case pooler, backends, commits, restarts, failover, rolling, fairness
    /// The processes that these start.
    case save, serve
  }

  let program: Program
  private var values: [String: String] = [:]

  static let help = """
    ServerFaults pooler [--saves N]          PgBouncer in session and transaction pooling, two tenants, four instances
    ServerFaults backends [--minutes N]      the server ends connections
    ServerFaults commits [--minutes N]       connections are cut in COMMIT, and the next ones refused
    ServerFaults restarts [--minutes N]      the server is restarted, every other time as if it had lost its power
    ServerFaults failover [--minutes N]      the server dies, and its synchronous standby takes its place
    ServerFaults rolling [--rows N] [--change NAME]   five instances, one of which migrates the store
    ServerFaults fairness [--seconds N] [--connections N]   ten instances that want more connections than there are
    """

  init(_ arguments: [String]) throws {
    guard let name = arguments.first, let program = Program(rawValue: name) else { throw Mistake(Self.help) }
    self.program = program
    var left = arguments.dropFirst()
    while let name = left.popFirst() {
      guard name.hasPrefix("--"), let value = left.popFirst() else { throw Mistake("\(name)?\n\(Self.help)") }
      values[String(name.dropFirst(2))] = value
    }
  }

  func text(_ name: String) -> String? { values[name] }

  func number(_ name: String, default value: Double) throws -> Double {
    guard let text = values[name] else { return value }
    guard let number = Double(text), number > 0 else {
      throw Mistake("--\(name) needs a positive number, not \(text).")
    }
    return number
  }

  func count(_ name: String, default value: Int) throws -> Int { Int(try number(name, default: Double(value))) }

  func url(_ name: String) throws -> URL {
    guard let text = values[name], let url = URL(string: text) else { throw Mistake("--\(name) needs a URL.") }
    return url
  }
}
