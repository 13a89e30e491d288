// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Measures workloads. Every measurement is a separate process on a fresh copy of the store, and the two sides
/// alternate.
struct Runner {
  let noteCount: Int
  let rounds: Int
  let folder: URL

  /// The result of all rounds of a workload.
  struct Result: Codable {
    let workload: String
    let notes: Int
    let rounds: Int
    /// The median ratio of the library's time to that of the work by hand, of consecutive measurements.
    let ratio: Double
    let smallestRatio: Double
    let largestRatio: Double
    let limit: Double?
    let librarySeconds: Double
    /// The processor time, which depends less on other work on the machine.
    let libraryProcessorSeconds: Double
    let secondsLimit: Double?
    let byHandSeconds: Double
    /// The time subtracted from the library's before computing the ratio.
    let fixedSeconds: Double
    let libraryPeakMegabytes: Double
    let byHandPeakMegabytes: Double
  }

  func results(of workloads: [Workload], report: (Result) -> Void) throws -> [Result] {
    var results: [Result] = []
    for workload in workloads {
      let fixed = results.first { $0.workload == workload.fixedCost }?.librarySeconds ?? 0
      let result = try result(of: workload, fixed: fixed)
      report(result)
      results.append(result)
    }
    return results
  }

  private func result(of workload: Workload, fixed: Double) throws -> Result {
    let template = try template(workload.start)
    var measured: [Workload.Side: [Measurement]] = [:]
    for round in 0..<rounds {
      let sides = round % 2 == 0 ? Workload.Side.allCases : Workload.Side.allCases.reversed()
      for side in sides { measured[side, default: []].append(try measure(workload, side, template)) }
    }
    let library = measured[.library] ?? []
    let byHand = measured[.byHand] ?? []
    let ratios = zip(library, byHand).map { max($0.seconds - fixed, 0) / $1.seconds }
    return Result(
      workload: workload.name, notes: noteCount, rounds: rounds, ratio: ratios.median,
      smallestRatio: ratios.min() ?? .nan, largestRatio: ratios.max() ?? .nan, limit: workload.limit,
      librarySeconds: library.map(\.seconds).median,
      libraryProcessorSeconds: library.map(\.processorSeconds).median, secondsLimit: workload.secondsLimit,
      byHandSeconds: byHand.map(\.seconds).median,
      fixedSeconds: fixed, libraryPeakMegabytes: library.map(\.peakMegabytes).max() ?? .nan,
      byHandPeakMegabytes: byHand.map(\.peakMegabytes).max() ?? .nan)
  }

  /// Creates the store that a workload starts with, once.
  func template(_ start: Workload.Start) throws -> URL {
    let url = folder.appendingPathComponent("\(start).sqlite")
    if FileManager.default.fileExists(atPath: url.path) { return url }
    switch start {
    case .notes: try DataSet(noteCount: noteCount, hasTags: true).make(at: url)
    case .plain: try DataSet(noteCount: noteCount, hasTags: false).make(at: url)
    case .empty: try DataSet.makeEmpty(at: url)
    case .versionBehind: try VersionWorkloads.makeStore(at: url, versionsBehind: 1)
    case .versionsBehind: try VersionWorkloads.makeStore(at: url, versionsBehind: 100)
    case .sized(let model): try SizeWorkloads.makeStore(at: url, of: model)
    }
    return url
  }

  /// Measures one side in a process of its own.
  ///
  /// - Parameter environment: variables that the process gets in addition.
  func measure(
    _ workload: Workload, _ side: Workload.Side, _ template: URL, environment: [String: String] = [:]
  ) throws -> Measurement {
    let place = folder.appendingPathComponent("measurement", isDirectory: true)
    if FileManager.default.fileExists(atPath: place.path) { try FileManager.default.removeItem(at: place) }
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    let store = place.appendingPathComponent("notes.sqlite")
    try FileManager.default.copyItem(at: template, to: store)
    // Flush the copy to the disk, so that no measurement includes writing it.
    let handle = try FileHandle(forUpdating: store)
    try handle.synchronize()
    try handle.close()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: CommandLine.arguments[0])
    process.arguments = ["--measure", workload.name, side.rawValue, store.path, String(noteCount)]
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let text = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Failure(text: "\(workload.name), \(side.rawValue): the process ended with \(process.terminationStatus)")
    }
    return try JSONDecoder().decode(Measurement.self, from: text)
  }
}
