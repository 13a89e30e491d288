// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataTestSupport
import Foundation
import Testing

@Suite("coredata store set and delete")
struct StoreSetCommandTests {
  private let shop: EditingShop
  private var store: String { shop.store }

  init() throws {
    shop = try EditingShop()
    let run = try shop.load(EditingShop.rows)
    try #require(run.status == .done, "\(run.error)")
  }

  private func set(_ id: String, _ changes: String...) -> CommandRun {
    CommandRun(["store", "set", store, id, "--no-backup"] + changes)
  }

  private func line(_ id: String) -> String { shop.export().first { $0.contains("\"id\":\"\(id)\"") } ?? "" }

  @Test(
    "A value of every type is parsed, and exported as it was given",
    arguments: [
      ("number=-32768", "\"number\":-32768"), ("total=19.90", "\"total\":\"19.9\""), ("paid=true", "\"paid\":true"),
      ("weight=0.1", "\"weight\":0.1"), ("price=0.5", "\"price\":0.5"), ("weight=null", "\"weight\":null"),
      ("total=-12345.678901", "\"total\":\"-12345.678901\""),
      ("placed=2026-03-14T15:09:26.535897Z", "\"placed\":\"2026-03-14T15:09:26.535897Z\""),
      ("placed=2026-03-14T17:09:26+02:00", "\"placed\":\"2026-03-14T15:09:26.000000Z\""),
      ("placed=2026-03-14", "\"placed\":\"2026-03-14T00:00:00.000000Z\""),
      ("token=6F9619FF-8B86-4D01-B42D-00CF4FC964FF", "\"token\":\"6F9619FF-8B86-4D01-B42D-00CF4FC964FF\""),
      ("link=https://example.com/a?b=c", "\"link\":\"https://example.com/a?b=c\""),
      ("picture=aGVsbG8=", "\"picture\":\"aGVsbG8=\""), ("settings=aGVsbG8=", "\"settings\":\"aGVsbG8=\""),
      ("customer=Customer/p2", "\"customer\":\"Customer/p2\""),
      ("items=Item/p1,Item/p3", "\"items\":[\"Item/p1\",\"Item/p3\"]"),
      ("items+=Item/p3", "\"items\":[\"Item/p2\",\"Item/p1\",\"Item/p3\"]"),
      ("items-=Item/p2", "\"items\":[\"Item/p1\"]"), ("items=null", "\"items\":[]"),
    ])
  func types(change: String, expected: String) {
    let run = set("Order/p1", change)
    #expect(run.status == .done, "\(run.error)")
    #expect(line("Order/p1").contains(expected), "\(line("Order/p1"))")
  }

  @Test(
    "A wrong value names the property, its type and an example, and changes nothing",
    arguments: [
      ("number=twelve", "Order.number: \"twelve\" is not an Integer 16; an example is 42."),
      ("number=40000", "Order.number: 40000 is out of the range of an Integer 16, -32768 to 32767."),
      ("total=1,5", "Order.total: \"1,5\" is not a Decimal; an example is 19.90."),
      ("paid=maybe", "Order.paid: \"maybe\" is not a Boolean; an example is true."),
      ("placed=14.3.2026", "Order.placed: \"14.3.2026\" is not a Date; an example is 2026-03-14T15:09:26Z."),
      ("placed=2026-02-30", "Order.placed: \"2026-02-30\" is not a Date"),
      ("token=1", "Order.token: \"1\" is not a UUID; an example is 6F9619FF-"),
      ("picture=###", "Order.picture: \"###\" is not a Binary Data; an example is aGVsbG8= (base64)."),
      ("picture=@missing.png", "missing.png cannot be read"),
      ("numbr=1", "Order has no property \"numbr\"; did you mean number?"),
      ("customer=Item/p1", "Order.customer: Item/p1 is not a Customer, which the relationship leads to."),
      ("customer=Customer/p9", "has no object Customer/p9."), ("number+=1", "+= and -= are for to-many relationships"),
      ("items-=Item/p3", "Item/p3 is not one of the objects."), ("number", "\"number\" is not a change."),
      ("customer.name=Eve", "customer is a relationship; to change its object, name that object"),
    ])
  func wrongValues(change: String, expected: String) {
    let before = shop.export()
    let run = CommandRun(["store", "set", store, "Order/p1", "weight=7", change])
    #expect(run.status == .usage || run.status == .failed)
    #expect(run.error.contains(expected), "\(run.error)")
    #expect(shop.export() == before)
    #expect(CommandRun(["store", "set", store, "Order/p9", "number=1"]).error.contains("has no object Order/p9."))
  }

  @Test("The elements of a composite attribute, and texts that look like other values")
  func composites() {
    #expect(set("Customer/p1", "address.city=Rome", "address.number=7", "name=\"null\"").status == .done)
    #expect(line("Customer/p1").contains("\"address\":{\"city\":\"Rome\",\"number\":7}"))
    #expect(line("Customer/p1").contains("\"name\":\"null\""))
    #expect(set("Customer/p1", "address.city=null", "name=a=b").status == .done)
    #expect(line("Customer/p1").contains("\"address\":{\"city\":null,\"number\":7}"))
    #expect(line("Customer/p1").contains("\"name\":\"a=b\""))
    #expect(set("Customer/p1", "address.town=x").error.contains("address has no element \"town\"; it has"))
    #expect(set("Customer/p1", "orderCount=3").error.contains("derived from others"))
  }

  @Test("The result names inverse relationships and derived attributes, and the backup")
  func result() throws {
    let run = CommandRun("store", "set", store, "Order/1", "customer=Customer/p2")
    #expect(run.status == .done, "\(run.error)")
    #expect(run.output.hasPrefix("Changed Order/p1 of Shop.sqlite\n"))
    #expect(run.output.contains("Also changed: Customer/p1 (orders), Customer/p2 (orders)"))
    #expect(line("Customer/p2").contains("\"orderCount\":1"))
    let backup = shop.path("Shop~.sqlite")
    #expect(run.output.hasSuffix("Backup  \(backup)\n"))
    #expect(
      shop.export(backup).contains { $0.contains("\"id\":\"Order/p1\"") && $0.contains("\"customer\":\"Customer/p1\"") }
    )
    let again = CommandRun("store", "set", store, "Order/1", "customer=Customer/p2")
    #expect(again.output == "Order/p1 already has these values. Nothing was changed.\n")
  }

  @Test("A broken rule names object and property; the store is unchanged and no backup is left")
  func rules() throws {
    let before = shop.export()
    let files = try shop.files()
    let short = CommandRun("store", "set", store, "Customer/p1", "name=x")
    #expect(short.status == .failed && short.error.contains("Customer/p1: "), "\(short.error)")
    #expect(short.error.contains("'name'"))
    let duplicate = CommandRun("store", "set", store, "Customer/p1", "email=bob@example.com")
    #expect(duplicate.status == .failed && duplicate.error.contains("email"), "\(duplicate.error)")
    let missing = CommandRun("store", "set", store, "Order/p1", "customer=null")
    #expect(missing.status == .failed && missing.error.contains("'customer'"), "\(missing.error)")
    #expect(shop.export() == before)
    #expect(try shop.files() == files)
  }

  @Test("A store that another program has open, or that is read-only, is refused")
  func openElsewhere() throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: shop.model), version: "Shop")
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    let added = try coordinator.addPersistentStore(
      type: .sqlite, configuration: nil, at: URL(fileURLWithPath: store), options: nil)
    let before = shop.export()
    for arguments in [["set", store, "Order/p1", "number=5"], ["delete", store, "Item/p1"]] {
      let run = CommandRun(["store"] + arguments)
      #expect(
        run.status == .unreadableStore && run.error.contains("Another program has Shop.sqlite open"), "\(run.error)")
    }
    #expect(CommandRun("store", "set", store, "Order/p1", "number=5", "--dry-run").status == .done)
    #expect(shop.export() == before)
    try coordinator.remove(added)
    #expect(set("Order/p1", "number=5").status == .done)
  }

  @Test("History is recorded where the store has it, and names the tool as the author")
  func history() throws {
    let model = try NSManagedObjectModel.load(contentsOf: URL(fileURLWithPath: shop.model), version: "Shop")
    func history() throws -> [NSPersistentHistoryTransaction] {
      let found = try withContext(
        model, at: URL(fileURLWithPath: store), options: [NSPersistentHistoryTrackingKey: true]
      ) { context in
        let result = try context.execute(
          NSPersistentHistoryChangeRequest.fetchHistory(after: nil as NSPersistentHistoryToken?))
        return (result as? NSPersistentHistoryResult)?.result as? [NSPersistentHistoryTransaction] ?? []
      }
      return found
    }
    #expect(try history().isEmpty)
    #expect(set("Order/p1", "number=5").status == .done)
    #expect(try history().map(\.author) == ["coredata"])
  }

  @Test("XML and binary stores are changed, and backed up by a copy of their file", arguments: ["xml", "binary"])
  func wholeFiles(type: String) throws {
    let copy = shop.path("Copy.\(type)")
    try #require(CommandRun("store", "copy", store, copy, "--type", type).status == .done)
    let options = ["--model", shop.model]
    #expect(CommandRun("store", "set", copy, "Customer/p1", "name=Eve").error.contains("--model MODEL"))
    let customer = try #require(shop.export(copy, "--model", shop.model).first { $0.contains("Ann") })
    let id = String(customer.split(separator: "\"")[7])
    let bytes = try Data(contentsOf: URL(fileURLWithPath: copy))
    let tried = CommandRun(["store", "set", copy, id, "name=Eve", "--dry-run"] + options)
    #expect(tried.status == .done && tried.output.hasPrefix("Would change"), "\(tried.error)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: copy)) == bytes)
    let run = CommandRun(["store", "set", copy, id, "name=Eve"] + options)
    #expect(run.status == .done, "\(run.error)")
    #expect(shop.export(copy, "--model", shop.model).contains { $0.contains("\"name\":\"Eve\"") })
    #expect(try Data(contentsOf: URL(fileURLWithPath: shop.path("Copy~.\(type)"))) == bytes)
    #expect(CommandRun(["store", "set", copy, id, "name=x"] + options).status == .failed)
    #expect(!FileManager.default.fileExists(atPath: shop.path("Copy~2.\(type)")))
  }

  // MARK: Deleting

  @Test("Deleting says what cascades and what else changes; a dry run changes nothing")
  func delete() throws {
    let before = shop.export()
    let files = try shop.files()
    let tried = CommandRun("store", "delete", store, "Order/p1", "--dry-run")
    #expect(tried.status == .done, "\(tried.error)")
    #expect(
      tried.output == """
        Would delete from Shop.sqlite
          Entity  Named  Cascaded
          Item        0         2
          Order       1         0
        Cascaded: Item/p1, Item/p2
        Also changed: Customer/p1 (orders)
        Nothing was changed.

        """)
    #expect(try shop.export() == before && shop.files() == files)
    let run = CommandRun("store", "delete", store, "Order/p1", "--format", "json")
    #expect(run.status == .done, "\(run.error)")
    #expect(try (run.json["cascaded"] as? [String])?.count == 2 && (run.json["deleted"] as? [String])?.count == 1)
    #expect(shop.export().count == before.count - 3)
    #expect(shop.export(shop.path("Shop~.sqlite")) == before)
  }

  @Test("A denied deletion names the object and the relationship")
  func denied() throws {
    let before = shop.export()
    let run = CommandRun("store", "delete", store, "Customer/p1")
    #expect(
      run.status == .failed && run.error.contains("Customer/p1: ") && run.error.contains("'orders'"), "\(run.error)")
    #expect(try shop.export() == before && !shop.files().contains("Shop~.sqlite"))
    #expect(CommandRun("store", "delete", store, "Customer/p2", "Item/p1", "--no-backup").status == .done)
    #expect(shop.export().count == before.count - 2)
    #expect(CommandRun("store", "delete", store, "x-coredata://0/Item/p1").error.contains("of another store"))
    #expect(CommandRun("store", "delete", store, "Item").status == .usage)
  }
}
