//
//  OrderStoreTests.swift
//  OrderBookTests
//
//  Created by Martin Kessler on 18.03.24.
//

import XCTest
import CoreData
@testable import OrderBook

final class OrderStoreTests: OrderBookTestCase {

    private var store: OrderStore!
    private var anna: Customer!
    private var bengt: Customer!

    override func setUp() {
        super.setUp()
        store = OrderStore(context: context)
        anna = makeCustomer("Anna Lindgren", number: 1001)
        bengt = makeCustomer("Bengt Åkesson", number: 1002)

        let first = makeOrder(1, customer: anna, date: day("2024-01-10"))
        let second = makeOrder(2, customer: anna, date: day("2024-02-11"))
        let third = makeOrder(3, customer: bengt, date: day("2024-02-12"))
        third.isRush = true
        second.status = .delivered
        first.due = day("2024-01-20")

        let hinge = makePart("H-1", name: "Hinge", stock: 2)
        hinge.reorderLevel = 5
        let lock = makePart("L-1", name: "Låscylinder")
        first.addLine(for: hinge, quantity: 2)
        second.addLine(for: hinge, quantity: 5)
        third.addLine(for: lock, quantity: 1)

        XCTAssertNoThrow(try context.save())
    }

    func testSortDescriptors() throws {
        let request: NSFetchRequest<Order> = Order.fetchRequest()
        request.sortDescriptors = [NSSortDescriptor(keyPath: \Order.date, ascending: false)]
        XCTAssertEqual(try context.fetch(request).map { $0.reference }, ["WS-2024-0003", "WS-2024-0002", "WS-2024-0001"])

        request.sortDescriptors = [
            NSSortDescriptor(key: #keyPath(Order.customer.displayName), ascending: true),
            NSSortDescriptor(key: #keyPath(Order.date), ascending: true)
        ]
        XCTAssertEqual(try context.fetch(request).map { $0.reference }, ["WS-2024-0001", "WS-2024-0002", "WS-2024-0003"])

        XCTAssertEqual(anna.sortedOrders.map { $0.reference }, ["WS-2024-0002", "WS-2024-0001"])
    }

    func testOpenOrdersRushFirst() throws {
        XCTAssertEqual(try store.openOrders().map { $0.reference }, ["WS-2024-0003", "WS-2024-0001"])
        XCTAssertEqual(try store.openOrders(for: anna).map { $0.reference }, ["WS-2024-0001"])
        XCTAssertEqual(try store.numberOfOrders(with: .delivered), 1)
    }

    func testFetchesAcrossRelationships() throws {
        XCTAssertEqual(try store.orders(containing: "H-1").count, 2)
        XCTAssertEqual(try store.orders(ofCustomersNamed: "akesson").map { $0.customer }, [bengt])
    }

    func testFetchRequestTemplate() throws {
        XCTAssertEqual(try store.overdueOrders(at: day("2024-01-25")).map { $0.reference }, ["WS-2024-0001"])
        XCTAssertEqual(try store.overdueOrders(at: day("2024-01-15")), [])
    }

    func testFetchedProperty() throws {
        context.refresh(anna, mergeChanges: false)
        XCTAssertEqual(anna.openOrders?.map { $0.reference }, ["WS-2024-0001"])
    }

    func testReferences() throws {
        XCTAssertEqual(try store.references(matching: .draft), ["WS-2024-0001", "WS-2024-0003"])
    }

    func testAggregates() throws {
        let hinge = try XCTUnwrap(Part.findOrFetch(in: context, matching: NSPredicate(format: "sku == %@", "H-1")))
        XCTAssertEqual(try store.totalQuantity(of: hinge), 7)
        XCTAssertEqual(try store.partUsage(), [
            OrderStore.PartUsage(sku: "H-1", quantity: 7),
            OrderStore.PartUsage(sku: "L-1", quantity: 1)
        ])
    }

    func testDerivedValues() throws {
        let order = try XCTUnwrap(try store.openOrders(for: anna).first)
        order.addLine(for: makePart("S-1", name: "Screw"))
        try context.save()

        context.refresh(order, mergeChanges: false)
        context.refresh(anna, mergeChanges: false)
        XCTAssertEqual(order.lineCount, 2)
        XCTAssertEqual(anna.orderCount, 2)

        XCTAssertEqual(try store.parts(searching: "LASCYL").map { $0.sku }, ["L-1"])
    }

    func testReorderPredicate() throws {
        let parts = try store.partsToReorder()
        XCTAssertEqual(parts.map { $0.sku }, ["H-1"])
        XCTAssertTrue(parts[0].needsReorder)
    }

    func testAbstractParentFetchesAllSubentities() throws {
        let technician: Technician = context.insertObject()
        technician.firstName = "Jonas"
        technician.lastName = "Berg"
        try context.save()

        let everybody = try store.everybody()
        XCTAssertEqual(everybody.count, 3)
        XCTAssertEqual(everybody.filter { $0 is Technician }, [technician])
        XCTAssertEqual(technician.entity.superentity?.name, "Party")
        XCTAssertTrue(technician.entity.superentity?.isAbstract ?? false)
    }

    // MARK: - Find or create

    func testFindOrCreate() throws {
        let found = Customer.findOrCreate(in: context, where: #keyPath(Customer.displayName), equals: "Anna Lindgren") { _ in
            XCTFail("The customer exists")
        }
        XCTAssertEqual(found, anna)

        let created = Customer.findOrCreate(in: context, where: #keyPath(Customer.displayName), equals: "Cilla Dahl") {
            $0.displayName = "Cilla Dahl"
        }
        XCTAssertTrue(created.isInserted)
        XCTAssertEqual(try Customer.count(in: context), 3)
    }

    // MARK: - Uniqueness

    func testDuplicateReferenceIsMerged() throws {
        let duplicate = makeOrder(1, customer: anna, date: day("2024-01-11"))
        duplicate.note = "Second entry"
        try context.save()

        let orders = try Order.fetch(in: context) {
            $0.predicate = NSPredicate(format: "%K == %@", #keyPath(Order.reference), "WS-2024-0001")
        }
        XCTAssertEqual(orders.count, 1)
        XCTAssertEqual(orders.first?.note, "Second entry")
    }

    func testDuplicateReferenceFailsWithErrorPolicy() {
        context.mergePolicy = NSMergePolicy.error
        makePart("H-1")
        XCTAssertThrowsError(try context.save()) { error in
            let error = error as NSError
            XCTAssertEqual(error.code, NSManagedObjectConstraintMergeError)
            let conflicts = error.userInfo[NSPersistentStoreSaveConflictsErrorKey] as? [NSConstraintConflict]
            XCTAssertEqual(conflicts?.first?.constraint, ["sku"])
        }
    }

    // MARK: - List

    func testSectionsByMonth() throws {
        let list = OrderListController(context: context)
        try list.reload()
        XCTAssertEqual(list.sectionTitles, ["2024-02", "2024-01"])
        XCTAssertEqual(list.numberOfOrders(in: 0), 2)
        XCTAssertEqual(list.order(at: IndexPath(indexes: [0, 0])).reference, "WS-2024-0003")

        let changed = expectation(description: "list changed")
        changed.assertForOverFulfill = false
        list.onChange = { changes in
            XCTAssertFalse(changes.isEmpty)
            changed.fulfill()
        }
        makeOrder(4, customer: bengt, date: day("2024-03-01"))
        try context.save()
        wait(for: [changed], timeout: 1)
        XCTAssertEqual(list.numberOfSections, 3)
    }

    func testSectionIdentifierFollowsTheDate() {
        let order = makeOrder(9, customer: anna, date: day("2024-05-31"))
        XCTAssertEqual(order.sectionIdentifier, "2024-05")
        order.date = day("2024-06-01")
        XCTAssertEqual(order.sectionIdentifier, "2024-06")
    }

    // MARK: - Batch and background

    func testBatchDelete() throws {
        XCTAssertEqual(try persistence.deleteClosedOrders(before: day("2024-06-01")), 1)
        XCTAssertEqual(try Order.count(in: context), 2)
    }

    func testBackgroundImport() throws {
        let json = """
        {"orders": [
            {"reference": "WS-2024-0001", "date": "2024-01-10T08:00:00Z", "rush": true, "tags": ["web"],
             "customer": {"number": 1001, "name": "Anna Lindgren", "email": "anna@example.com"},
             "lines": [{"sku": "H-1", "text": "Hinge", "quantity": 3, "price": 4.5}]},
            {"reference": "WS-2024-0010", "date": "2024-04-02T08:00:00Z",
             "customer": {"number": 1003, "name": "Cilla Dahl", "email": null},
             "lines": [{"sku": "L-1", "text": null, "quantity": 1, "price": 19.9}]}
        ]}
        """
        let done = expectation(description: "import")
        let importer = OrderImporter(container: persistence.container)
        importer.importOrders(from: Data(json.utf8)) { result in
            XCTAssertEqual(try? result.get(), 2)
            done.fulfill()
        }
        wait(for: [done], timeout: 5)

        XCTAssertEqual(try Order.count(in: context), 4)
        XCTAssertEqual(try Customer.count(in: context), 3)
        context.refreshAllObjects()
        let updated = try XCTUnwrap(try store.openOrders(for: anna).first)
        XCTAssertTrue(updated.isRush)
        XCTAssertEqual(updated.tags, ["web"])
        XCTAssertEqual(updated.orderLines.map { $0.quantity }, [3])
    }

}
