//
//  OrderListController.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//

import Foundation
import CoreData

/// Keeps the order list up to date, one section a month.
final class OrderListController: NSObject, NSFetchedResultsControllerDelegate {

    enum Change {
        case insert(IndexPath)
        case delete(IndexPath)
        case update(IndexPath)
        case move(IndexPath, IndexPath)
        case insertSection(Int)
        case deleteSection(Int)
    }

    var onChange: (([Change]) -> Void)?

    private let fetchedResultsController: NSFetchedResultsController<Order>
    private var pendingChanges: [Change] = []

    init(context: NSManagedObjectContext, status: OrderStatus? = nil) {
        let request: NSFetchRequest<Order> = Order.fetchRequest()
        request.sortDescriptors = [
            NSSortDescriptor(keyPath: \Order.date, ascending: false),
            NSSortDescriptor(keyPath: \Order.reference, ascending: true)
        ]
        if let status = status {
            request.predicate = NSPredicate(format: "%K == %d", #keyPath(Order.statusRaw), status.rawValue)
        }
        request.fetchBatchSize = 30

        fetchedResultsController = NSFetchedResultsController(fetchRequest: request,
                                                              managedObjectContext: context,
                                                              sectionNameKeyPath: #keyPath(Order.sectionIdentifier),
                                                              cacheName: nil)
        super.init()
        fetchedResultsController.delegate = self
    }

    func reload() throws {
        try fetchedResultsController.performFetch()
    }

    func show(_ status: OrderStatus?) throws {
        fetchedResultsController.fetchRequest.predicate = status.map {
            NSPredicate(format: "%K == %d", #keyPath(Order.statusRaw), $0.rawValue)
        }
        try reload()
    }

    var numberOfSections: Int {
        return fetchedResultsController.sections?.count ?? 0
    }

    var sectionTitles: [String] {
        return fetchedResultsController.sections?.map { $0.name } ?? []
    }

    func numberOfOrders(in section: Int) -> Int {
        guard let sections = fetchedResultsController.sections, sections.indices.contains(section) else { return 0 }
        return sections[section].numberOfObjects
    }

    func order(at indexPath: IndexPath) -> Order {
        return fetchedResultsController.object(at: indexPath)
    }

    func indexPath(of order: Order) -> IndexPath? {
        return fetchedResultsController.indexPath(forObject: order)
    }

    var orders: [Order] {
        return fetchedResultsController.fetchedObjects ?? []
    }

    // MARK: - NSFetchedResultsControllerDelegate

    func controllerWillChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
        pendingChanges.removeAll()
    }

    func controller(_ controller: NSFetchedResultsController<NSFetchRequestResult>,
                    didChange sectionInfo: NSFetchedResultsSectionInfo,
                    atSectionIndex sectionIndex: Int,
                    for type: NSFetchedResultsChangeType) {
        switch type {
        case .insert:
            pendingChanges.append(.insertSection(sectionIndex))
        case .delete:
            pendingChanges.append(.deleteSection(sectionIndex))
        default:
            break
        }
    }

    func controller(_ controller: NSFetchedResultsController<NSFetchRequestResult>,
                    didChange anObject: Any,
                    at indexPath: IndexPath?,
                    for type: NSFetchedResultsChangeType,
                    newIndexPath: IndexPath?) {
        switch type {
        case .insert:
            pendingChanges.append(.insert(newIndexPath!))
        case .delete:
            pendingChanges.append(.delete(indexPath!))
        case .update:
            pendingChanges.append(.update(indexPath!))
        case .move:
            pendingChanges.append(.move(indexPath!, newIndexPath!))
        @unknown default:
            break
        }
    }

    func controllerDidChangeContent(_ controller: NSFetchedResultsController<NSFetchRequestResult>) {
        onChange?(pendingChanges)
        pendingChanges.removeAll()
    }

}
