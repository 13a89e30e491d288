// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import FuzzingSupport

/// The failures found, each kind once, with the first input that caused it.
struct FindingLog {
  private struct Finding {
    let kind: FuzzKind
    let seed: UInt64
    let what: String
    let trace: String
    var times = 1
  }

  private let options: FuzzOptions
  private var found: [String: Finding] = [:]

  init(_ options: FuzzOptions) { self.options = options }

  var count: Int { found.count }

  /// Records a failure, and saves its input if no similar failure is known.
  mutating func note(_ kind: FuzzKind, _ seed: UInt64, _ what: String, trace: String) throws {
    let frames = Self.frames(trace)
    let key = kind.rawValue + ErrorText.plain(what) + frames.prefix(5).joined(separator: " ")
    if found[key] != nil {
      found[key]?.times += 1
      return
    }
    found[key] = Finding(kind: kind, seed: seed, what: what, trace: trace)
    let places = Self.places(frames)
    print("\(kind.rawValue) \(seed): \(what)")
    for line in frames.filter({ !$0.hasPrefix("0x") }).prefix(3) + places.prefix(8) { print("    \(line)") }
    // Flush, so that findings can be seen during the run even in a file.
    fflush(nil)
    let place = options.output.appendingPathComponent("findings/\(kind.rawValue)-\(seed)")
    try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
    try Data("\(what)\n\(places.joined(separator: "\n"))\n\(trace)\n".utf8).write(
      to: place.appendingPathComponent("report.txt"))
    let arguments =
      [FuzzSupervisor.program] + options.forWorkers
      + [
        "--save", place.appendingPathComponent("input").path, "--kind", kind.rawValue, "--seed", "\(seed)", "--count",
        "1",
      ]
    let process = CArguments.with(arguments) {
      fuzzingStart(
        $0, place.appendingPathComponent("notes.txt").path, place.appendingPathComponent("save-errors.txt").path,
        FuzzLimits.seconds32, 0)
    }
    var child = FuzzingChild()
    guard process > 0, fuzzingEnded(process, 1, &child) == 1 else { return }
    // An input that could not be saved can be created again from its seed.
  }

  /// Returns the offsets of a backtrace in this program, and the messages that describe the failure.
  private static func frames(_ trace: String) -> [String] {
    trace.split(separator: "\n").compactMap { line in
      if line.contains("Fatal error") || line.contains("ERROR:") || line.contains("SUMMARY") {
        return String(line.prefix(200))
      }
      guard line.contains("/Fuzzing("), let open = line.firstIndex(of: "("), let close = line.firstIndex(of: ")"),
        open < close
      else { return nil }
      return String(line[line.index(after: open)..<close].drop { $0 == "+" })
    }
  }

  /// Returns the files and lines of a backtrace, if the system has a symbolizer.
  private static func places(_ frames: [String]) -> [String] {
    let offsets = frames.filter { $0.hasPrefix("0x") }.prefix(40)
    guard !offsets.isEmpty else { return [] }
    let symbolizer = Process()
    symbolizer.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    symbolizer.arguments = ["llvm-symbolizer", "-e", FuzzSupervisor.program, "-s"] + offsets
    let pipe = Pipe()
    symbolizer.standardOutput = pipe
    symbolizer.standardError = FileHandle.nullDevice
    do {
      try symbolizer.run()
    } catch {
      // The report contains the raw offsets.
      return []
    }
    let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    symbolizer.waitUntilExit()
    var places: [String] = []
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":")
      guard parts.count == 3, parts[0].hasSuffix(".swift"), !line.hasPrefix("<") else { continue }
      let place = "\(parts[0]):\(parts[1])"
      if places.last != place { places.append(place) }
    }
    return places
  }

  /// Lists the findings, and how to reproduce each.
  func report() {
    for finding in found.values.sorted(by: { ($0.kind.rawValue, $0.seed) < ($1.kind.rawValue, $1.seed) }) {
      print("\(finding.times)x  --kind \(finding.kind.rawValue) --seed \(finding.seed) --count 1    \(finding.what)")
    }
  }
}

extension FuzzLimits {
  static var seconds32: Int32 { Int32(seconds) }
}
