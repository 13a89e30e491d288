// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import CoreDataTerminal
import CoreDataTestSupport
import Foundation
import Testing

@testable import CoreDataCommand

@Suite("coredata migrate, where data would be lost")
struct LossCommandTests {
  private let workshop: Workshop
  private var store: String { workshop.store }

  init() throws {
    workshop = try Workshop(orders: 4)
  }

  @Test("A store that no version has written: plan, run and status refuse to drop its values; --allow-loss allows it")
  func unknownStore() throws {
    let small = workshop.path("Small.xcdatamodel")
    try FileManager.default.createDirectory(atPath: small, withIntermediateDirectories: true)
    let entity =
      "<entity name=\"Order\"><attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\"/></entity>"
    try Data("<?xml version=\"1.0\"?><model documentVersion=\"1.0\">\(entity)</model>".utf8)
      .write(to: URL(fileURLWithPath: small + "/contents"))
    let content = FileManager.default.contents(atPath: store)
    for command in ["plan", "run"] {
      let run = CommandRun("migrate", command, store, small)
      #expect(run.status == .unreadableStore)
      #expect(run.error.contains("would drop 4 values of 'Order.name'. Looked at: Small (1 entity differs)."))
      #expect(run.error.contains("or use --allow or --allow-loss."))
    }
    let status = CommandRun("migrate", "status", store, small)
    #expect(status.status == .unreadableStore)
    #expect(status.output.contains("not written by any known version"))
    #expect(status.output.contains("would drop 4 values of 'Order.name'."))
    #expect(FileManager.default.contents(atPath: store) == content)
    let plan = CommandRun("migrate", "plan", store, small, "--allow-loss")
    #expect(plan.status == .done)
    #expect(plan.output.contains("  1  the store's own model -> Small   inferred, in place   4 rows touched\n"))
    #expect(
      plan.output.contains(
        "    info  DS102  Order.name: 4 values would be dropped (allowed by --allow-loss)  Small\n"))
    #expect(plan.output.contains("The store was written with none of the known versions;"))
    #expect(CommandRun("migrate", "run", store, small, "--allow-loss").status == .done)
  }

  @Test("run does not do what plan calls an error; --allow-loss allows losses")
  func losses() throws {
    try workshop.write(version: "Shop 4", of: "Shop.xcdatamodeld", "<entity name=\"Order\"/>")
    let content = FileManager.default.contents(atPath: store)
    let arguments = [store, workshop.model, "--to", "Shop 4"]
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .no)
    #expect(plan.output.contains("error  DS102  Order.title: 4 values would be dropped"))
    let run = CommandRun(["migrate", "run"] + arguments)
    #expect(run.status == .migrationImpossible)
    #expect(run.error.contains("Data would be lost: DS102 Order.title: 4 values would be dropped;"))
    #expect(run.error.contains("To accept the loss, use --allow or --allow-loss. Nothing was changed.\n"))
    #expect(FileManager.default.contents(atPath: store) == content)
    #expect(try !workshop.files().contains("Shop~.sqlite"))
    let allowed = CommandRun(["migrate", "run"] + arguments + ["--allow-loss"])
    #expect(allowed.status == .done, "\(allowed.error)")
    #expect(CommandRun(["migrate", "plan"] + arguments).status == .done)
  }

  @Test("A mapping model that leaves out rows: plan finds an error, run ends with 5, the report counts what was there")
  func leftOut() throws {
    let order = "<entity name=\"Order\"><attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/></entity>"
    let email = "<attribute name=\"email\" optional=\"YES\" attributeType=\"String\"/>"
    try workshop.write(version: "A", of: "Two.xcdatamodeld", "<entity name=\"Customer\"/>" + order)
    try workshop.write(version: "B", of: "Two.xcdatamodeld", "<entity name=\"Customer\">\(email)</entity>" + order)
    let url = URL(fileURLWithPath: workshop.path("Two.xcdatamodeld"))
    let (old, new) = try (
      NSManagedObjectModel.load(contentsOf: url, version: "A"), NSManagedObjectModel.load(contentsOf: url, version: "B")
    )
    let store = workshop.path("Two.sqlite")
    try withContext(old, at: URL(fileURLWithPath: store)) { context in
      for name in ["Customer", "Order", "Order"] {
        _ = NSEntityDescription.insertNewObject(forEntityName: name, into: context)
      }
      try context.save()
    }
    var mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new).document
    mapping.entityMappings.removeAll { $0.sourceEntityName == "Order" }
    try mapping.writeCompiled(to: URL(fileURLWithPath: workshop.path("Two.cdm")))
    let arguments = [store, url.path, "--to", "B", "--mappings", workshop.path("Two.cdm")]
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .no)
    #expect(plan.output.contains("error  DS101  Order: no entity mapping covers it: 2 rows would be dropped"))
    let content = FileManager.default.contents(atPath: store)
    let run = CommandRun(["migrate", "run"] + arguments)
    #expect(run.status == .migrationImpossible)
    #expect(
      run.error.contains(
        "Data would be lost: DS101 Order: no entity mapping covers it: 2 rows would be "
          + "dropped."))
    #expect(FileManager.default.contents(atPath: store) == content)
    #expect(CommandRun(["migrate", "run"] + arguments + ["--allow", "DS101:Customer"]).status == .migrationImpossible)
    #expect(CommandRun(["migrate", "run"] + arguments + ["--allow", "DS102:Order"]).status == .migrationImpossible)
    let allowed = CommandRun(["migrate", "run"] + arguments + ["--allow", "DS101:Order", "--format", "json"])
    #expect(allowed.status == .done, "\(allowed.error)")
    let rows = try #require(allowed.json["rows"] as? [String: [String: Int]])
    #expect(rows["Order"] == ["before": 2, "after": 0])
    #expect(rows["Customer"] == ["before": 1, "after": 1])
  }

  @Test("Going back to an earlier version wants a flag of its own; V2 comes before V 10")
  func downgrade() throws {
    let note = "<attribute name=\"note\" optional=\"YES\" attributeType=\"String\"/>"
    let fields =
      "<attribute name=\"name\" optional=\"YES\" attributeType=\"String\"/>"
      + "<attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"0\"/>"
    for (name, attributes) in [("V2", fields), ("V 10", fields + note)] {
      try workshop.write(version: name, of: "Back.xcdatamodeld", "<entity name=\"Order\">\(attributes)</entity>")
    }
    let model = workshop.path("Back.xcdatamodeld")
    let onward = CommandRun("migrate", "run", store, model, "--to", "V 10")
    #expect(onward.status == .done, "\(onward.error)")
    let content = FileManager.default.contents(atPath: store)
    let plan = CommandRun("migrate", "plan", store, model, "--to", "V2")
    #expect(plan.status == .no)
    #expect(plan.output.contains("V2 comes before V 10; migrate run requires --allow-downgrade."))
    let run = CommandRun("migrate", "run", store, model, "--to", "V2")
    #expect(run.status == .migrationImpossible)
    #expect(run.error.contains("V2 comes before V 10 and can hold less. To migrate back, use --allow-downgrade."))
    #expect(FileManager.default.contents(atPath: store) == content)
    #expect(CommandRun("migrate", "plan", store, model, "--to", "V2", "--allow-downgrade").status == .done)
    #expect(CommandRun("migrate", "run", store, model, "--to", "V2", "--allow-downgrade").status == .done)
  }

  @Test("What a mapping model carries elsewhere is no loss")
  func carried() throws {
    let text = "<attribute name=\"NAME\" optional=\"YES\" attributeType=\"String\"/>"
    func entity(_ name: String) -> String {
      "<entity name=\"Order\">\(text.replacingOccurrences(of: "NAME", with: name))"
        + "<attribute name=\"total\" optional=\"YES\" attributeType=\"Integer 32\" defaultValueString=\"0\"/></entity>"
    }
    try workshop.write(version: "Shop 4", of: "Shop.xcdatamodeld", entity("label"))
    let url = URL(fileURLWithPath: workshop.model)
    let (old, new) = try (
      NSManagedObjectModel.load(contentsOf: url, version: "Shop"),
      NSManagedObjectModel.load(contentsOf: url, version: "Shop 4")
    )
    var mapping = try NSMappingModel.inferredMappingModel(forSourceModel: old, destinationModel: new).document
    let label = try #require(mapping.entityMappings[0].attributeMappings.firstIndex { $0.name == "label" })
    mapping.entityMappings[0].attributeMappings[label].valueExpression = .keyPathOf(.variable("source"), "name")
    let file = workshop.path("Label.cdm")
    try mapping.writeCompiled(to: URL(fileURLWithPath: file))
    let arguments = [store, workshop.model, "--to", "Shop 4", "--mappings", file]
    let plan = CommandRun(["migrate", "plan"] + arguments)
    #expect(plan.status == .done, "\(plan.output)")
    #expect(!plan.output.contains("DS102"))
    #expect(CommandRun(["migrate", "run"] + arguments).status == .done)
    let values = try CommandRun("store", "export", store).jsonLines.map { $0["values"] as? [String: Any] }
    #expect(Set(values.compactMap { $0?["label"] as? String }) == ["Order 1", "Order 2", "Order 3", "Order 4"])
  }
}

extension Workshop {
  /// Writes a version of a model.
  func write(version: String, of model: String, _ entities: String) throws {
    let folder = path("\(model)/\(version).xcdatamodel")
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try Data("<?xml version=\"1.0\"?><model documentVersion=\"1.0\">\(entities)</model>".utf8)
      .write(to: URL(fileURLWithPath: folder + "/contents"))
  }
}
