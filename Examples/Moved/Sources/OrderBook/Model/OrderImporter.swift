//
//  OrderImporter.swift
//  OrderBook
//
//  Created by Martin Kessler on 02.05.24.
//

import Foundation
import CoreData

struct OrderFile: Decodable {

    struct Customer: Decodable {
        let number: Int32
        let name: String
        let email: String?
    }

    struct Line: Decodable {
        let sku: String
        let text: String?
        let quantity: Int32
        let price: Decimal
    }

    struct Entry: Decodable {
        let reference: String
        let date: Date
        let due: Date?
        let rush: Bool?
        let tags: [String]?
        let customer: Customer
        let lines: [Line]
    }

    let orders: [Entry]
}

/// Reads the export of the web shop in the background.
final class OrderImporter {

    private let container: NSPersistentContainer

    init(container: NSPersistentContainer) {
        self.container = container
    }

    func importOrders(from data: Data, completion: @escaping (Result<Int, Error>) -> Void) {
        container.performBackgroundTask { context in
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            context.transactionAuthor = "import"

            let result = Result<Int, Error> {
                let file = try OrderImporter.decoder.decode(OrderFile.self, from: data)
                for entry in file.orders {
                    self.update(entry, in: context)
                }
                if context.hasChanges {
                    try context.save()
                }
                return file.orders.count
            }
            context.reset()

            DispatchQueue.main.async {
                completion(result)
            }
        }
    }

    func importOrders(from data: Data) async throws -> Int {
        return try await container.performBackgroundTask { context in
            context.mergePolicy = NSMergePolicy.mergeByPropertyObjectTrump
            let file = try OrderImporter.decoder.decode(OrderFile.self, from: data)
            file.orders.forEach { self.update($0, in: context) }
            try context.save()
            return file.orders.count
        }
    }

    // MARK: - Private

    private static let decoder: JSONDecoder = {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        return decoder
    }()

    private func update(_ entry: OrderFile.Entry, in context: NSManagedObjectContext) {
        let order = Order.findOrCreate(in: context, where: #keyPath(Order.reference), equals: entry.reference) {
            $0.reference = entry.reference
        }
        order.date = entry.date
        order.due = entry.due
        order.isRush = entry.rush ?? false
        order.tags = entry.tags
        order.customer = customer(for: entry.customer, in: context)

        let oldLines = order.orderLines
        if !oldLines.isEmpty {
            order.removeFromLines(at: NSIndexSet(indexesIn: NSRange(location: 0, length: oldLines.count)))
            oldLines.forEach(context.delete)
        }

        let lines: [OrderLine] = entry.lines.map { item in
            let line: OrderLine = context.insertObject()
            line.details = item.text
            line.quantity = item.quantity
            line.unitPrice = item.price as NSDecimalNumber
            line.part = Part.findOrFetch(in: context, matching: NSPredicate(format: "%K == %@", #keyPath(Part.sku), item.sku))
            return line
        }
        order.addToLines(NSOrderedSet(array: lines))
    }

    private func customer(for item: OrderFile.Customer, in context: NSManagedObjectContext) -> Customer {
        let predicate = NSPredicate(format: "%K == %d", #keyPath(Customer.customerNumber), item.number)
        let customer = Customer.findOrCreate(in: context, matching: predicate) {
            $0.customerNumber = item.number
        }
        customer.displayName = item.name
        customer.email = item.email
        return customer
    }

}
