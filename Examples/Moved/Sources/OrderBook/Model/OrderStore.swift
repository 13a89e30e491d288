//
//  OrderStore.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//

import Foundation
import CoreData

/// Queries of the order screens.
struct OrderStore {

    struct PartUsage: Equatable {
        let sku: String
        let quantity: Int64
    }

    let context: NSManagedObjectContext

    // MARK: - Orders

    func openOrders(for customer: Customer? = nil) throws -> [Order] {
        let request: NSFetchRequest<Order> = Order.fetchRequest()

        var predicates = [
            NSPredicate(format: "%K < %d", #keyPath(Order.statusRaw), OrderStatus.delivered.rawValue)
        ]
        if let customer = customer {
            predicates.append(NSPredicate(format: "%K == %@", #keyPath(Order.customer), customer))
        }
        request.predicate = NSCompoundPredicate(andPredicateWithSubpredicates: predicates)
        request.sortDescriptors = [
            NSSortDescriptor(keyPath: \Order.isRush, ascending: false),
            NSSortDescriptor(keyPath: \Order.date, ascending: false)
        ]
        request.relationshipKeyPathsForPrefetching = [#keyPath(Order.customer), "\(#keyPath(Order.lines)).\(#keyPath(OrderLine.part))"]
        request.fetchBatchSize = 50
        return try context.fetch(request)
    }

    func orders(containing sku: String) throws -> [Order] {
        return try Order.fetch(in: context) { request in
            request.predicate = NSPredicate(format: "ANY lines.part.sku == %@", sku)
            request.sortDescriptors = Order.defaultSortDescriptors
        }
    }

    func orders(ofCustomersNamed name: String) throws -> [Order] {
        let request = Order.sortedFetchRequest
        request.predicate = NSPredicate(format: "%K CONTAINS[cd] %@", #keyPath(Order.customer.displayName), name)
        return try context.fetch(request)
    }

    /// Uses the fetch request of the data model.
    func overdueOrders(at date: Date = Date()) throws -> [Order] {
        guard let model = context.persistentStoreCoordinator?.managedObjectModel,
              let request = model.fetchRequestFromTemplate(withName: "OverdueOrders",
                                                           substitutionVariables: ["NOW": date]) as? NSFetchRequest<Order> else {
            return []
        }
        request.sortDescriptors = [NSSortDescriptor(key: #keyPath(Order.dueDate), ascending: true)]
        return try context.fetch(request)
    }

    func references(matching status: OrderStatus) throws -> [String] {
        let request = NSFetchRequest<NSDictionary>(entityName: "Order")
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = [#keyPath(Order.reference), #keyPath(Order.customer.displayName)]
        request.predicate = NSPredicate(format: "%K == %@", #keyPath(Order.statusRaw), NSNumber(value: status.rawValue))
        request.sortDescriptors = [NSSortDescriptor(keyPath: \Order.reference, ascending: true)]
        request.returnsDistinctResults = true
        return try context.fetch(request).compactMap { $0[#keyPath(Order.reference)] as? String }
    }

    func numberOfOrders(with status: OrderStatus) throws -> Int {
        return try Order.count(in: context) {
            $0.predicate = NSPredicate(format: "%K == %d", #keyPath(Order.statusRaw), status.rawValue)
        }
    }

    // MARK: - Statistics

    func totalQuantity(of part: Part) throws -> Int64 {
        let sum = NSExpressionDescription()
        sum.name = "totalQuantity"
        sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: \OrderLine.quantity)])
        sum.expressionResultType = .integer64AttributeType

        let request = NSFetchRequest<NSFetchRequestResult>(entityName: OrderLine.entityName)
        request.resultType = .dictionaryResultType
        request.predicate = NSPredicate(format: "%K == %@", #keyPath(OrderLine.part), part)
        request.propertiesToFetch = [sum]

        let rows = try context.fetch(request) as? [[String: Any]]
        return (rows?.first?["totalQuantity"] as? NSNumber)?.int64Value ?? 0
    }

    func partUsage() throws -> [PartUsage] {
        let sum = NSExpressionDescription()
        sum.name = "used"
        sum.expression = NSExpression(forFunction: "sum:", arguments: [NSExpression(forKeyPath: #keyPath(OrderLine.quantity))])
        sum.expressionResultType = .integer64AttributeType

        let request = NSFetchRequest<NSDictionary>(entityName: OrderLine.entityName)
        request.resultType = .dictionaryResultType
        request.propertiesToFetch = [#keyPath(OrderLine.part.sku), sum]
        request.propertiesToGroupBy = [#keyPath(OrderLine.part.sku)]
        request.predicate = NSPredicate(format: "%K != nil", #keyPath(OrderLine.part))
        request.sortDescriptors = [NSSortDescriptor(key: #keyPath(OrderLine.part.sku), ascending: true)]

        return try context.fetch(request).compactMap { row in
            guard let sku = row[#keyPath(OrderLine.part.sku)] as? String,
                  let used = row["used"] as? Int64 else { return nil }
            return PartUsage(sku: sku, quantity: used)
        }
    }

    // MARK: - Parts and people

    func parts(searching text: String) throws -> [Part] {
        let request = Part.sortedFetchRequest
        let folded = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
        request.predicate = NSPredicate(format: "%K CONTAINS %@", #keyPath(Part.searchName), folded)
        return try context.fetch(request)
    }

    func partsToReorder() throws -> [Part] {
        return try Part.fetch(in: context) { request in
            request.predicate = Part.reorderPredicate
            request.sortDescriptors = Part.defaultSortDescriptors
        }
    }

    func suppliers(of part: Part) -> [Supplier] {
        let suppliers = part.suppliers as? Set<Supplier> ?? []
        return suppliers.sorted { $0.rating > $1.rating }
    }

    func technicians(withAllSkills titles: [String]) throws -> [Technician] {
        let request = Technician.sortedFetchRequest
        request.predicate = NSPredicate(format: "SUBQUERY(%K, $skill, $skill.title IN %@).@count == %d",
                                        #keyPath(Technician.skills), titles, titles.count)
        return try context.fetch(request)
    }

    /// Customers and technicians together.
    func everybody() throws -> [Party] {
        let request: NSFetchRequest<Party> = Party.fetchRequest()
        request.includesSubentities = true
        request.sortDescriptors = [NSSortDescriptor(keyPath: \Party.createdAt, ascending: true)]
        return try context.fetch(request)
    }

}
