// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import CoreDataCommand

@Suite("--policies")
struct PolicyLibraryTests {
  private let workshop: Workshop

  init() throws { workshop = try Workshop() }

  @Test(
    "A library is named after its module",
    arguments: [
      ("/a/libShopPolicies.so", "ShopPolicies"), ("Policies.so", "Policies"), ("libShop.so.1", "Shop"),
    ])
  func module(_ path: String, _ module: String) {
    #expect(PolicyLibrary.module(of: URL(fileURLWithPath: path)) == module)
  }

  @Test("What cannot be loaded stops the command before it does anything")
  func refusals() throws {
    let store = workshop.path("Shop.sqlite")
    try workshop.makeStore(at: store, ["Order": 2])
    let before = try Data(contentsOf: URL(fileURLWithPath: store))
    let files = try workshop.files()
    func run(_ library: String) -> CommandRun {
      CommandRun("migrate", "run", store, workshop.model, "--to", "Shop 3", "--policies", library)
    }
    let missing = run(workshop.path("none.so"))
    #expect(missing.status == .usage && missing.error.contains("There is no library"))
    #expect(run(workshop.model).status == .usage)
    let fifo = workshop.path("fifo.so")
    #expect(mkfifo(fifo, 0o600) == 0)
    #expect(run(fifo).status == .usage)
    try FileManager.default.removeItem(atPath: fifo)
    let text = run(workshop.model + "/Shop.xcdatamodel/contents")
    #expect(text.status == .migrationImpossible && text.error.contains("contents cannot be loaded"))
    #expect(try Data(contentsOf: URL(fileURLWithPath: store)) == before)
    #expect(try workshop.files() == files)
  }
}
