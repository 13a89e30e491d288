// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What one process has measured.
struct Measurement: Codable {
  /// The work itself.
  let seconds: Double
  /// The time of all processors, for the work itself and for programs that it has run.
  let processorSeconds: Double
  /// The most memory that the process has had in use, in megabytes.
  let peakMegabytes: Double

  /// Runs some work, and reads what it took.
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

  /// The most that a program had in use which the work has run; 0 where it has run none.
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
