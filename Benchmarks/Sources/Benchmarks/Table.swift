// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The results as a Markdown table.
enum Table {
  static let header = [
    "| workload | notes | ratio | min to max | limit | library | by hand | fixed | peak MB | by hand |",
    "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
  ]

  static func line(_ result: Runner.Result) -> String {
    let cells = [
      result.workload, String(result.notes), ratio(result.ratio),
      "\(ratio(result.smallestRatio)) to \(ratio(result.largestRatio))",
      result.limit.map(ratio) ?? result.secondsLimit.map(time) ?? "",
      time(result.librarySeconds), time(result.byHandSeconds),
      result.fixedSeconds == 0 ? "" : time(result.fixedSeconds), megabytes(result.libraryPeakMegabytes),
      megabytes(result.byHandPeakMegabytes),
    ]
    return "| \(cells.joined(separator: " | ")) |"
  }

  private static func ratio(_ value: Double) -> String { String(format: "%.2f", value) }

  static func time(_ seconds: Double) -> String {
    seconds < 1 ? String(format: "%.1f ms", seconds * 1000) : String(format: "%.2f s", seconds)
  }

  static func megabytes(_ value: Double) -> String { String(format: "%.0f", value) }
}
