// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite(
  "Exports of other projects' stores, imported",
  .enabled(if: Fixtures.isPresent, "The fixtures are not beside the repository"))
struct RoundTripTests {
  /// The stores that contain their model.
  private static var stores: [URL] {
    (Fixtures.stores + Fixtures.swiftDataStores).filter { url in
      let run = CommandRun("store", "export", url.path, "--limit", "0", "--quiet")
      return run.status == .done
    }
  }

  @Test("The export of a store, imported into an empty store of its model, exports to the same text")
  func roundTrip() throws {
    var (same, rows, without): (Int, Int, Int) = (0, 0, 0)
    for url in Self.stores {
      let name = Fixtures.name(of: url)
      let directory = try TemporaryDirectory()
      let copy = directory.path("Copy.sqlite")
      guard CommandRun("store", "create", copy, url.path, "--quiet").status == .done else {
        without += 1
        continue
      }
      let export = CommandRun("store", "export", url.path, "--quiet")
      try directory.write(export.output, to: "rows.jsonl")
      let run = CommandRun("store", "import", copy, directory.path("rows.jsonl"), "--no-backup")
      #expect(run.status == .done, "\(name): \(run.error)")
      let again = CommandRun("store", "export", copy, "--quiet")
      let lines = export.output.split(separator: "\n").map(String.init)
      let (before, after) = try (Rows(lines), Rows(again.output.split(separator: "\n").map(String.init)))
      if before == after { same += 1 }
      let different = zip(before.lines, after.lines).first { $0 != $1 }
      #expect(before == after, "\(name): \(different?.0.prefix(600) ?? "") / \(different?.1.prefix(600) ?? "")")
      rows += lines.count
    }
    #expect(same >= 40 && rows > 9000, "\(same) stores with \(rows) rows; \(without) without a model")
  }
}
