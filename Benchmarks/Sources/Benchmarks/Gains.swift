// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures workloads with and without the optimizations of the library that exist for them.
///
/// An optimization that gains less than 15 % on all of its workloads is not worth its code.
struct Gains {
  /// An optimization, by its name in the library, and the realistic workloads that it is for.
  private static let cases: [(optimization: String, workloads: [String])] = [
    ("readAhead", ["predicate, sort, limit", "fetch all", "in place: rebuild of a table"]),
    ("packedRows", ["fetch all", "fetch all, read one attribute", "fetch all, read every attribute"]),
    ("backgroundRows", ["fetch all", "fetch all, read every attribute"]),
    ("backgroundCheckpoints", ["insert by thousands", "update 10,000", "delete 10,000"]),
    ("backgroundChecks", ["in place: rebuild of a table", "mapping model of expressions", "policy on notes"]),
  ]

  let runner: Runner

  /// Measures all of them.
  ///
  /// - Parameter wanted: parts of the names of those to measure; empty for all.
  func measure(_ wanted: [String], report: (String) -> Void) throws {
    #if !OPTIMIZATION_SWITCHES
    throw Failure(text: "This build has no switches. Run `make bench BENCH=--gains`.")
    #endif
    report("| optimization | workload | with | without | gain | processors, with | without | peak MB, with | without |")
    report("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (optimization, names) in Self.cases where wanted.isEmpty || wanted.contains(where: optimization.contains) {
      for name in names {
        guard let workload = Workload.named(name) else { throw Failure(text: "There is no workload \(name).") }
        report(try line(optimization, workload))
      }
    }
  }

  private func line(_ optimization: String, _ workload: Workload) throws -> String {
    let template = try runner.template(workload.start)
    var measured: (with: [Measurement], without: [Measurement]) = ([], [])
    for _ in 0..<runner.rounds {
      measured.with.append(try runner.measure(workload, .library, template))
      measured.without.append(
        try runner.measure(workload, .library, template, environment: ["COREDATA_WITHOUT": optimization]))
    }
    let gain = zip(measured.with, measured.without).map { 1 - $0.seconds / $1.seconds }.median
    let cells =
      [optimization, workload.name, Table.time(measured.with.map(\.seconds).median)]
      + [Table.time(measured.without.map(\.seconds).median), String(format: "%.0f %%", gain * 100)]
      + [measured.with, measured.without].map { Table.time($0.map(\.processorSeconds).median) }
      + [measured.with, measured.without].map { Table.megabytes($0.map(\.peakMegabytes).median) }
    return "| \(cells.joined(separator: " | ")) |"
  }
}
