//
//  OrderModelTests.swift
//  OrderBookTests
//
//  Created by Martin Kessler on 18.03.24.
//

import XCTest
import CoreData
@testable import OrderBook

class OrderBookTestCase: XCTestCase {

    var persistence: PersistenceController!
    var context: NSManagedObjectContext!

    override func setUp() {
        super.setUp()
        persistence = PersistenceController(inMemory: true)
        context = persistence.container.viewContext
    }

    override func tearDown() {
        context = nil
        persistence = nil
        super.tearDown()
    }

    // MARK: - Factories

    @discardableResult
    func makeCustomer(_ name: String = "Anna Lindgren", number: Int32 = 1001) -> Customer {
        let customer: Customer = context.insertObject()
        customer.displayName = name
        customer.customerNumber = number
        return customer
    }

    @discardableResult
    func makeOrder(_ number: Int, customer: Customer, date: Date = Date()) -> Order {
        let order = Order(context: context)
        order.reference = String(format: "WS-2024-%04d", number)
        order.customer = customer
        order.date = date
        return order
    }

    @discardableResult
    func makePart(_ sku: String, name: String = "Hinge", price: String = "4.50", stock: Int64 = 10) -> Part {
        let part = Part(context: context)
        part.sku = sku
        part.name = name
        part.price = NSDecimalNumber(string: price)
        part.stock = stock
        return part
    }

    func day(_ string: String) -> Date {
        return ISO8601DateFormatter().date(from: string + "T12:00:00Z")!
    }

}

final class OrderModelTests: OrderBookTestCase {

    // MARK: - Insert

    func testAwakeFromInsertSetsIdentifierAndDates() throws {
        let customer = makeCustomer()
        let order = makeOrder(1, customer: customer)
        try context.save()

        XCTAssertFalse(customer.id.uuidString.isEmpty)
        XCTAssertEqual(customer.createdAt.timeIntervalSinceNow, 0, accuracy: 5)
        XCTAssertFalse(customer.wantsNewsletter)
        XCTAssertEqual(order.tags, [])
        XCTAssertNotNil(order.modifiedAt)
        XCTAssertFalse(order.objectID.isTemporaryID)
    }

    func testPartUsesItsObjectiveCName() {
        let part = NSEntityDescription.insertNewObject(forEntityName: "Part", into: context)
        XCTAssertTrue(part is Part)
        XCTAssertEqual(part.entity.managedObjectClassName, "WSPart")
    }

    // MARK: - Relationships

    func testInverseRelationships() {
        let customer = makeCustomer()
        let first = makeOrder(1, customer: customer)
        let second = Order(context: context)
        second.reference = "WS-2024-0002"
        customer.addToOrders(second)

        XCTAssertEqual(customer.orders?.count, 2)
        XCTAssertEqual(second.customer, customer)
        XCTAssertTrue(customer.orders?.contains(first) ?? false)

        customer.removeFromOrders(first)
        XCTAssertNil(first.customer)
        XCTAssertEqual(customer.orders as? Set<Order>, [second])

        customer.addToOrders(NSSet(array: [first]))
        XCTAssertEqual(customer.orders?.count, 2)
    }

    func testManyToManyBetweenPartsAndSuppliers() throws {
        let hinge = makePart("H-1")
        let lock = makePart("L-1", name: "Lock")
        let supplier: Supplier = context.insertObject()
        supplier.name = "Beslag AB"
        supplier.rating = 4.5
        supplier.url = URL(string: "https://www.beslag.example/catalogue")
        supplier.addToParts([hinge, lock])
        try context.save()

        XCTAssertEqual(hinge.suppliers?.count, 1)
        XCTAssertEqual((lock.suppliers?.anyObject() as? Supplier)?.host, "www.beslag.example")

        lock.removeFromSuppliers(supplier)
        XCTAssertEqual(supplier.parts as? Set<Part>, [hinge])
    }

    func testSkillsOfTechnicians() throws {
        let welding: Skill = context.insertObject()
        welding.title = "Welding"
        let turning: Skill = context.insertObject()
        turning.title = "Turning"

        let technician: Technician = context.insertObject()
        technician.firstName = "Jonas"
        technician.lastName = "Berg"
        technician.hourlyRate = 48
        technician.addToSkills([welding, turning])

        let other: Technician = context.insertObject()
        other.firstName = "Ida"
        other.lastName = "Holm"
        other.addToSkills(welding)
        try context.save()

        XCTAssertTrue(technician.has(skill: "Turning"))
        XCTAssertEqual(technician.fullName, "Jonas Berg")
        XCTAssertEqual(welding.technicians?.count, 2)

        let found = try OrderStore(context: context).technicians(withAllSkills: ["Welding", "Turning"])
        XCTAssertEqual(found, [technician])
    }

    func testDeletingAnOrderDeletesItsLinesAndAttachments() throws {
        let order = makeOrder(1, customer: makeCustomer())
        order.addLine(for: makePart("H-1"), quantity: 2)
        _ = Attachment.insert(into: context, data: Data(count: 64), fileName: "drawing.pdf", order: order)
        try context.save()

        context.delete(order)
        try context.save()

        XCTAssertEqual(try OrderLine.count(in: context), 0)
        XCTAssertEqual(try Attachment.count(in: context), 0)
        XCTAssertEqual(try Part.count(in: context), 1)
        XCTAssertEqual(try Customer.count(in: context), 1)
    }

    func testCustomerWithOrdersCannotBeDeleted() throws {
        let customer = makeCustomer()
        makeOrder(1, customer: customer)
        try context.save()

        context.delete(customer)
        XCTAssertThrowsError(try context.save()) { error in
            XCTAssertEqual((error as NSError).code, NSValidationRelationshipDeniedDeleteError)
        }
        context.rollback()
        XCTAssertFalse(customer.isDeleted)
    }

    func testDeletingAConfirmedOrderReturnsTheParts() throws {
        let part = makePart("H-1", stock: 10)
        let order = makeOrder(1, customer: makeCustomer())
        order.addLine(for: part, quantity: 4)
        try order.confirm()
        try context.save()
        XCTAssertEqual(part.stock, 6)

        context.delete(order)
        try context.save()
        XCTAssertEqual(part.stock, 10)
    }

    // MARK: - Ordered relation

    func testLinesKeepTheirOrder() throws {
        let order = makeOrder(1, customer: makeCustomer())
        let lines = ["A", "B", "C"].map { order.addLine(for: makePart($0, name: $0)) }
        XCTAssertEqual(order.orderLines.map { $0.title }, ["A", "B", "C"])
        XCTAssertEqual(lines[1].position, 2)

        order.moveLine(from: 0, to: 2)
        XCTAssertEqual(order.orderLines.map { $0.title }, ["B", "C", "A"])

        let inserted = OrderLine(context: context)
        inserted.details = "Assembly"
        order.insertIntoLines(inserted, at: 1)
        XCTAssertEqual(order.orderLines.map { $0.title }, ["B", "Assembly", "C", "A"])
        XCTAssertEqual(inserted.order, order)

        try context.save()
        context.reset()

        let stored = try XCTUnwrap(try Order.fetch(in: context).first)
        XCTAssertEqual(stored.orderLines.map { $0.title }, ["B", "Assembly", "C", "A"])
    }

    func testReplacingAndRemovingLines() {
        let order = makeOrder(1, customer: makeCustomer())
        ["A", "B", "C", "D"].forEach { order.addLine(for: makePart($0, name: $0)) }

        let replacement = OrderLine(context: context)
        replacement.details = "X"
        order.replaceLines(at: 1, with: replacement)
        XCTAssertEqual(order.orderLines.map { $0.title }, ["A", "X", "C", "D"])

        order.removeFromLines(at: NSIndexSet(indexesIn: NSRange(location: 1, length: 2)))
        XCTAssertEqual(order.orderLines.map { $0.title }, ["A", "D"])
        XCTAssertNil(replacement.order)

        let mutable = order.mutableOrderedSetValue(forKey: #keyPath(Order.lines))
        mutable.exchangeObject(at: 0, withObjectAt: 1)
        XCTAssertEqual(order.orderLines.map { $0.title }, ["D", "A"])
    }

    // MARK: - Validation

    func testCustomerNeedsAName() {
        makeCustomer("  ")
        XCTAssertThrowsError(try context.save()) { error in
            XCTAssertEqual(error as? OrderBookError, .missingName)
        }
    }

    func testOrderNeedsACustomer() {
        let order = Order(context: context)
        order.reference = "WS-2024-0001"
        XCTAssertThrowsError(try context.save()) { error in
            let error = error as NSError
            XCTAssertEqual(error.domain, NSCocoaErrorDomain)
            XCTAssertEqual(error.code, NSValidationMissingMandatoryPropertyError)
            XCTAssertEqual(error.userInfo[NSValidationKeyErrorKey] as? String, #keyPath(Order.customer))
        }
    }

    func testReferenceHasToMatchThePattern() {
        let order = makeOrder(1, customer: makeCustomer())
        order.reference = "4711"
        XCTAssertThrowsError(try order.validateForInsert()) { error in
            XCTAssertEqual((error as NSError).code, NSValidationStringPatternMatchingError)
        }
    }

    func testQuantityAndDiscountRange() {
        let order = makeOrder(1, customer: makeCustomer())
        let line = order.addLine(for: makePart("H-1"), quantity: 0)
        XCTAssertThrowsError(try line.validateForInsert()) { error in
            XCTAssertEqual((error as NSError).code, NSValidationNumberTooSmallError)
        }
        line.quantity = 1
        XCTAssertNoThrow(try line.validateForInsert())

        order.discountPercent = 120
        order.reference = "12"
        XCTAssertThrowsError(try order.validateForInsert()) { error in
            let error = error as NSError
            XCTAssertEqual(error.code, NSValidationMultipleErrorsError)
            XCTAssertEqual((error.userInfo[NSDetailedErrorsKey] as? [NSError])?.count, 2)
        }
    }

    func testEmailValidation() {
        let customer = makeCustomer()
        customer.email = "anna(at)example.com"
        XCTAssertThrowsError(try customer.validateForInsert())

        var value: AnyObject? = "anna@example.com" as NSString
        XCTAssertNoThrow(try customer.validateValue(&value, forKey: #keyPath(Customer.email)))
    }

    func testDueDateCannotBeBeforeOrderDate() {
        let order = makeOrder(1, customer: makeCustomer(), date: day("2024-03-10"))
        XCTAssertNil(order.due)
        order.due = day("2024-03-09")
        XCTAssertThrowsError(try context.save()) { error in
            XCTAssertEqual(error as? OrderBookError, .dueBeforeOrder)
        }
        order.due = day("2024-03-20")
        XCTAssertNoThrow(try context.save())
        XCTAssertEqual(order.dueDate, day("2024-03-20").timeIntervalSinceReferenceDate)
        XCTAssertTrue(order.isOverdue)
    }

    // MARK: - Status

    func testStatusIsStoredAsRawValue() throws {
        let order = makeOrder(1, customer: makeCustomer())
        XCTAssertEqual(order.status, .draft)

        order.status = .ready
        XCTAssertEqual(order.statusRaw, 3)
        XCTAssertEqual(order.value(forKey: "statusRaw") as? Int16, 3)

        order.statusRaw = OrderStatus.cancelled.rawValue
        XCTAssertEqual(order.status, .cancelled)
        XCTAssertFalse(order.status.isOpen)

        order.statusRaw = 99
        XCTAssertEqual(order.status, .draft)
    }

#if canImport(ObjectiveC)
    func testStatusIsObservable() {
        let order = makeOrder(1, customer: makeCustomer())
        var seen: [OrderStatus] = []
        let observation = order.observe(\.status) { order, _ in seen.append(order.status) }
        order.status = .confirmed
        order.statusRaw = OrderStatus.inProgress.rawValue
        observation.invalidate()
        XCTAssertTrue(seen.contains(.confirmed))
        XCTAssertEqual(seen.last, .inProgress)
    }
#endif

    func testConfirmNeedsStock() {
        let order = makeOrder(1, customer: makeCustomer())
        order.addLine(for: makePart("H-1", stock: 1), quantity: 2)
        XCTAssertThrowsError(try order.confirm()) { error in
            XCTAssertEqual(error as? OrderBookError, .notEnoughStock(sku: "H-1"))
        }
        XCTAssertEqual(order.status, .draft)
    }

    // MARK: - Amounts

    func testTotals() {
        let customer = makeCustomer()
        customer.creditLimit = NSDecimalNumber(string: "20")
        let order = makeOrder(1, customer: customer)
        let line = order.addLine(for: makePart("H-1", price: "4.50"), quantity: 3)
        order.addLine(for: makePart("L-1", price: "12.25"))
        XCTAssertEqual(order.total, NSDecimalNumber(string: "25.75"))

        line.discount = 10
        XCTAssertEqual(line.lineTotal, NSDecimalNumber(string: "12.15"))
        XCTAssertEqual(order.total, NSDecimalNumber(string: "24.40"))

        order.discountPercent = 50
        XCTAssertEqual(order.total, NSDecimalNumber(string: "12.20"))
        XCTAssertFalse(customer.isOverCreditLimit)
    }

}
