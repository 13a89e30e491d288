// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What one process has measured.
struct Measurement: Codable {
  /// The work itself.
  let seconds: Double
  /// The most memory that the process has had in use, in megabytes.
  let peakMegabytes: Double

  /// Runs some work, and reads what it took.
  static func of(_ work: () throws -> Void) rethrows -> Measurement {
    let seconds = try ContinuousClock().measure(work).seconds
    return Measurement(seconds: seconds, peakMegabytes: peakMegabytes())
  }

  /// What the kernel has noted for this process. `getrusage` would count the program that started it too.
  private static func peakMegabytes() -> Double {
    // Linux only; unknown elsewhere.
    if let status = try? String(contentsOfFile: "/proc/self/status", encoding: .utf8) {
      for line in status.split(separator: "\n") where line.hasPrefix("VmHWM:") {
        let kilobytes = line.split(whereSeparator: { !$0.isNumber }).first.flatMap { Double($0) } ?? 0
        return kilobytes / 1024
      }
    }
    return .nan
  }
}

extension Duration {
  var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

extension Array where Element == Double {
  var median: Double {
    let ordered = sorted()
    guard !ordered.isEmpty else { return .nan }
    let middle = ordered.count / 2
    return ordered.count % 2 == 1 ? ordered[middle] : (ordered[middle - 1] + ordered[middle]) / 2
  }
}
