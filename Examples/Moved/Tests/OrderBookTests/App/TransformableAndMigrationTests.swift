//
//  TransformableAndMigrationTests.swift
//  OrderBookTests
//
//  Created by Martin Kessler on 22.08.24.
//

import XCTest
import CoreData
@testable import OrderBook

final class TransformableAndMigrationTests: OrderBookTestCase {

    // MARK: - Attributes

    func testDimensionsSurviveTheStore() throws {
        let part = makePart("H-1")
        part.dimensions = Dimensions(width: 40, height: 80, depth: 2.5)
        try context.save()
        context.reset()

        let stored = try XCTUnwrap(try Part.fetch(in: context).first)
        XCTAssertEqual(stored.dimensions, Dimensions(width: 40, height: 80, depth: 2.5))
        XCTAssertEqual(stored.dimensions?.volume, 8000)
    }

    func testTransformerIsRegistered() throws {
        let transformer = try XCTUnwrap(ValueTransformer(forName: DimensionsTransformer.name))
        let dimensions = Dimensions(width: 1, height: 2, depth: 3, unit: "cm")
        let data = try XCTUnwrap(transformer.reverseTransformedValue(dimensions) as? Data)
        XCTAssertEqual(transformer.transformedValue(data) as? Dimensions, dimensions)
    }

    /// The Mac app reads the same archives, and knows the class by this name only.
    func testArchiveNamesTheClass() throws {
        let transformer = try XCTUnwrap(ValueTransformer(forName: DimensionsTransformer.name))
        let value = transformer.reverseTransformedValue(Dimensions(width: 1, height: 2, depth: 3))
        let data = try XCTUnwrap(value as? Data)
        XCTAssertNotNil(data.range(of: Data("WSDimensions".utf8)))
        XCTAssertNil(data.range(of: Data("OrderBook.Dimensions".utf8)))
    }

    func testSecureCodingOfDimensions() throws {
        let dimensions = Dimensions(width: 1, height: 2, depth: 3)
        let data = try NSKeyedArchiver.archivedData(withRootObject: dimensions, requiringSecureCoding: true)
        XCTAssertEqual(try NSKeyedUnarchiver.unarchivedObject(ofClass: Dimensions.self, from: data), dimensions)
    }

    func testTagsSurviveTheStore() throws {
        let order = makeOrder(1, customer: makeCustomer())
        order.tags = ["urgent", "oak"]
        try context.save()
        context.refresh(order, mergeChanges: false)
        XCTAssertEqual(order.tags, ["urgent", "oak"])
    }

    func testOtherAttributeTypes() throws {
        let image = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0) })
        let part = makePart("H-1", price: "0.10")
        part.image = image
        part.datasheet = URL(string: "https://example.com/h-1.pdf")
        part.reorderLevel = 3
        part.stock = 5_000_000_000
        part.count(5_000_000_001, on: day("2024-03-01"))
        let id = part.partID

        let customer = makeCustomer()
        customer.website = URL(string: "https://lindgren.example")
        customer.creditLimit = NSDecimalNumber(string: "1234567.89")
        customer.wantsNewsletter = true
        try context.save()
        context.reset()

        let stored = try XCTUnwrap(try Part.fetch(in: context).first)
        XCTAssertEqual(stored.image, image)
        XCTAssertEqual(stored.datasheet?.lastPathComponent, "h-1.pdf")
        XCTAssertEqual(stored.reorderLevel, 3)
        XCTAssertEqual(stored.stock, 5_000_000_001)
        XCTAssertEqual(stored.lastCounted, day("2024-03-01"))
        XCTAssertEqual(stored.price, NSDecimalNumber(string: "0.1"))
        XCTAssertEqual(stored.partID, id)

        let storedCustomer = try XCTUnwrap(try Customer.fetch(in: context).first)
        XCTAssertEqual(storedCustomer.website?.host, "lindgren.example")
        XCTAssertEqual(storedCustomer.creditLimit, NSDecimalNumber(string: "1234567.89"))
        XCTAssertTrue(storedCustomer.wantsNewsletter)
    }

    func testChangedValues() throws {
        let order = makeOrder(1, customer: makeCustomer())
        try context.save()
        XCTAssertFalse(order.hasChanges)

        order.note = "Call before delivery"
        XCTAssertEqual(Set(order.changedValues().keys), ["note"])
        XCTAssertTrue(order.committedValues(forKeys: ["note"])["note"] is NSNull)
    }

    // MARK: - Model

    func testUserInfoOfTheModel() throws {
        let model = PersistenceController.managedObjectModel
        let order = try XCTUnwrap(model.entitiesByName["Order"])
        XCTAssertEqual(order.userInfo?["listTitle"] as? String, "Orders")
        XCTAssertEqual(order.uniquenessConstraints as? [[String]], [["reference"]])
        XCTAssertEqual(order.attributesByName["date"]?.renamingIdentifier, "orderDate")
        XCTAssertTrue(try XCTUnwrap(order.attributesByName["lineCount"]) is NSDerivedAttributeDescription)
        XCTAssertTrue(order.relationshipsByName["lines"]?.isOrdered ?? false)
        XCTAssertNotNil(model.fetchRequestTemplate(forName: "OverdueOrders"))
    }

    // MARK: - Migration

    func testMappingModels() throws {
        let migrator = StoreMigrator()
        XCTAssertNoThrow(try migrator.mappingModel(from: .version1, to: .version2))

        let mapping = try migrator.mappingModel(from: .version2, to: .version3)
        let customer = try XCTUnwrap(mapping.entityMappingsByName["CustomerToCustomer"])
        XCTAssertEqual(customer.entityMigrationPolicyClassName, "OrderBook.CustomerMigrationPolicy2to3")
        let name = customer.attributeMappings?.first { $0.name == "displayName" }
        XCTAssertEqual(name?.valueExpression?.expressionType, .function)
    }

    func testDisplayNameOfThePolicy() {
        let policy = CustomerMigrationPolicy2to3()
        XCTAssertEqual(policy.displayName(first: "Anna", last: "Lindgren"), "Anna Lindgren")
        XCTAssertEqual(policy.displayName(first: nil, last: " Lindgren "), "Lindgren")
        XCTAssertEqual(policy.displayName(first: "", last: nil), "Unknown")
    }

    func testMigrationFromVersion1() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString + ".sqlite")
        addTeardownBlock {
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: url.path + suffix)
            }
        }
        try writeVersion1Store(at: url)

        let migrator = StoreMigrator()
        XCTAssertTrue(try migrator.requiresMigration(at: url))
        try migrator.migrateStoreIfNeeded(at: url)
        XCTAssertFalse(try migrator.requiresMigration(at: url))

        let container = NSPersistentContainer(name: "OrderBook", managedObjectModel: PersistenceController.managedObjectModel)
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: url)]
        container.loadPersistentStores { _, error in XCTAssertNil(error) }

        let order = try XCTUnwrap(try Order.fetch(in: container.viewContext).first)
        XCTAssertEqual(order.date, day("2023-11-05"))
        XCTAssertEqual(order.status, .inProgress)
        XCTAssertEqual(order.customer?.displayName, "Anna Lindgren")
        XCTAssertEqual(order.customer?.phone, "0123 456")
        XCTAssertEqual(order.orderLines.map { $0.title }, ["Hinge", "Lock"])
    }

    /// Plain managed objects, the classes of today do not fit the old model.
    private func writeVersion1Store(at url: URL) throws {
        let model = ModelVersion.version1.model
        model.entities.forEach { $0.managedObjectClassName = NSStringFromClass(NSManagedObject.self) }

        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
        let old = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        old.persistentStoreCoordinator = coordinator

        let customer = NSEntityDescription.insertNewObject(forEntityName: "Customer", into: old)
        customer.setValuesForKeys([
            "id": UUID(),
            "createdAt": Date(),
            "firstName": "Anna",
            "lastName": "Lindgren",
            "telephone": "0123 456",
            "customerNumber": 1001
        ])

        let order = NSEntityDescription.insertNewObject(forEntityName: "Order", into: old)
        order.setValue("WS-2023-0001", forKey: "reference")
        order.setValue(day("2023-11-05"), forKey: "orderDate")
        order.setValue("in progress", forKey: "status")
        order.setValue(customer, forKey: "customer")

        let lines = order.mutableOrderedSetValue(forKey: "lines")
        for text in ["Hinge", "Lock"] {
            let line = NSEntityDescription.insertNewObject(forEntityName: "OrderLine", into: old)
            line.setValue(text, forKey: "details")
            line.setValue(NSDecimalNumber(string: "4.50"), forKey: "unitPrice")
            lines.add(line)
        }

        try old.save()
        try coordinator.remove(store)
    }

}
