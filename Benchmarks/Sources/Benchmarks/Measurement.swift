// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The measurement of a process.
struct Measurement: Codable {
  /// The time of the work in seconds.
  let seconds: Double
  /// The processor time of the work and of programs that it ran, in seconds.
  let processorSeconds: Double
  /// The peak memory of the process in megabytes.
  let peakMegabytes: Double

  /// Runs some work and measures it.
  static func of(_ work: () throws -> Void) rethrows -> Measurement {
    let before = processorSeconds()
    let seconds = try ContinuousClock().measure(work).seconds
    return Measurement(
      seconds: seconds, processorSeconds: processorSeconds() - before,
      peakMegabytes: max(peakMegabytes(), peakMegabytesOfPrograms()))
  }

  private static func processorSeconds() -> Double {
    let (own, programs) = (usage(ofPrograms: false), usage(ofPrograms: true))
    return [own.ru_utime, own.ru_stime, programs.ru_utime, programs.ru_stime].map(seconds).reduce(0, +)
  }

  private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }

  /// The peak memory of the programs that the work ran, or 0 if it ran none.
  private static func peakMegabytesOfPrograms() -> Double { Double(usage(ofPrograms: true).ru_maxrss) / 1024 }

  private static func usage(ofPrograms: Bool) -> rusage {
    var usage = rusage()
    #if canImport(Glibc)
    getrusage(ofPrograms ? RUSAGE_CHILDREN.rawValue : RUSAGE_SELF.rawValue, &usage)
    #else
    getrusage(ofPrograms ? RUSAGE_CHILDREN : RUSAGE_SELF, &usage)
    #endif
    return usage
  }

  /// The kernel's figure for this process. `getrusage` would include the program that started it.
  private static func peakMegabytes() -> Double {
    // Available on Linux only.
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
