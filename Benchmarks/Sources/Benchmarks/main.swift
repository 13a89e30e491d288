// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The arguments of the command line.
struct Arguments {
  var noteCounts: [Int] = []
  var rounds = 5
  var wanted: [String] = []
  var isJSON = false
  var measuresGains = false

  static let usage = """
    Benchmarks [--notes N]... [--rounds N] [--only PART-OF-A-NAME]... [--json]
    Benchmarks --gains [--notes N] [--rounds N] [--only PART-OF-A-NAME]...

    Measures the library against the same work written by hand over SQLite's C interface.
    --notes   10000, 100000 or 1000000 notes; default: 10000; may be repeated
    --rounds  the number of measurements of each side; default: 5
    --only    workloads whose name contains this; may be repeated; default: all but those of large models
    --json    write the results as JSON instead of a table
    --gains   the library with and without each of its optimizations; --only names some of these

    """

  init(_ words: [String]) throws {
    var words = words[...]
    func value(of option: String) throws -> String {
      guard let value = words.popFirst() else { throw Failure(text: "\(option) needs a value") }
      return value
    }
    func number(of option: String) throws -> Int {
      let text = try value(of: option)
      guard let number = Int(text), number > 0 else {
        throw Failure(text: "\(option) needs a positive number, not \(text)")
      }
      return number
    }
    while let word = words.popFirst() {
      switch word {
      case "--notes": noteCounts.append(try number(of: word))
      case "--rounds": rounds = try number(of: word)
      case "--only": wanted.append(try value(of: word))
      case "--json": isJSON = true
      case "--gains": measuresGains = true
      default: throw Failure(text: "unknown argument \(word)\n\n\(Arguments.usage)")
      }
    }
    if noteCounts.isEmpty { noteCounts = [10_000] }
  }

  /// The selected workloads, and those whose results they need.
  var workloads: [Workload] {
    let chosen = Workload.all.filter { workload in
      wanted.isEmpty ? !workload.isOnDemand : wanted.contains { workload.name.contains($0) }
    }
    let needed = Set(chosen.map(\.name) + chosen.compactMap(\.fixedCost))
    return Workload.all.filter { needed.contains($0.name) }
  }
}

/// Runs a measurement, in its own process.
func measure(_ words: [String]) throws {
  guard words.count == 4, let workload = Workload.named(words[0]), let side = Workload.Side(rawValue: words[1]),
    let noteCount = Int(words[3])
  else { throw Failure(text: "--measure is used by the program itself") }
  let place = Workload.Place(store: URL(fileURLWithPath: words[2]), noteCount: noteCount)
  let measurement = try side == .library ? workload.library(place) : workload.byHand(place)
  FileHandle.standardOutput.write(try JSONEncoder().encode(measurement))
}

/// Prints without buffering, so that a long run can be watched through a pipe.
func show(_ text: String) {
  FileHandle.standardOutput.write(Data((text + "\n").utf8))
}

func run(_ arguments: Arguments) throws {
  var results: [Runner.Result] = []
  if !arguments.isJSON, !arguments.measuresGains { show(Table.header.joined(separator: "\n")) }
  for noteCount in arguments.noteCounts {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("Benchmarks-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer {
      // Keep the measurements even if the directory cannot be removed.
      try? FileManager.default.removeItem(at: folder)
    }
    let runner = Runner(noteCount: noteCount, rounds: arguments.rounds, folder: folder)
    if arguments.measuresGains {
      try Gains(runner: runner).measure(arguments.wanted, report: show)
      continue
    }
    results +=
      try runner
      .results(of: arguments.workloads) { result in
        if !arguments.isJSON { show(Table.line(result)) }
      }
  }
  if arguments.isJSON, !arguments.measuresGains {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    show(String(decoding: try encoder.encode(results), as: UTF8.self))
  }
}

do {
  let words = Array(CommandLine.arguments.dropFirst())
  if words.first == "--measure" {
    try measure(Array(words.dropFirst()))
  } else {
    try run(Arguments(words))
  }
} catch {
  FileHandle.standardError.write(Data("\(error)\n".utf8))
  exit(1)
}
