//
//  PersistenceController.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//

import CoreData

final class PersistenceController {

    static let shared = PersistenceController()

    static let preview: PersistenceController = {
        let controller = PersistenceController(inMemory: true)
        let context = controller.container.viewContext

        let customer: Customer = context.insertObject()
        customer.displayName = "Anna Lindgren"
        customer.customerNumber = 1001

        for index in 1...5 {
            let order: Order = context.insertObject()
            order.reference = String(format: "WS-2024-%04d", index)
            order.customer = customer
            order.isRush = index == 1
        }

        do {
            try context.save()
        } catch {
            fatalError("Unresolved error \(error)")
        }
        return controller
    }()

    /// One model for all in-memory containers, otherwise every entity is claimed twice.
    static let managedObjectModel = NSManagedObjectModel(contentsOf: Bundle.main.url(forResource: "OrderBook", withExtension: "momd")!)!

    let container: NSPersistentContainer


    init(inMemory: Bool = false) {
        DimensionsTransformer.register()

        if inMemory {
            container = NSPersistentContainer(name: "OrderBook", managedObjectModel: PersistenceController.managedObjectModel)
            container.persistentStoreDescriptions.first!.url = URL(fileURLWithPath: "/dev/null")
        } else {
            container = NSPersistentContainer(name: "OrderBook")
            if let description = container.persistentStoreDescriptions.first, let url = description.url {
                description.setOption(true as NSNumber, forKey: NSPersistentHistoryTrackingKey)
                description.setOption(true as NSNumber, forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
                do {
                    try StoreMigrator().migrateStoreIfNeeded(at: url)
                } catch {
                    NSLog("Migration failed: %@", error.localizedDescription)
                }
            }
        }

        container.loadPersistentStores { _, error in
            if let error = error as NSError? {
                fatalError("Unresolved error \(error), \(error.userInfo)")
            }
        }

        container.viewContext.name = "viewContext"
        container.viewContext.automaticallyMergesChangesFromParent = true
        container.viewContext.mergePolicy = NSMergePolicy(merge: .mergeByPropertyObjectTrumpMergePolicyType)
        container.viewContext.undoManager = nil
    }

    func newBackgroundContext() -> NSManagedObjectContext {
        let context = container.newBackgroundContext()
        context.mergePolicy = NSMergeByPropertyObjectTrumpMergePolicy
        context.transactionAuthor = "background"
        return context
    }

    func save() throws {
        let context = container.viewContext
        guard context.hasChanges else { return }
        do {
            try context.save()
        } catch let error as NSError {
            NSLog("Save failed: %@", error.localizedDescription)
            throw error
        }
    }

    // MARK: - Batch operations

    /// Removes delivered and cancelled orders without loading them.
    @discardableResult
    func deleteClosedOrders(before date: Date) throws -> Int {
        let context = newBackgroundContext()
        var deletedIDs: [NSManagedObjectID] = []

        try context.performAndWait {
            let fetchRequest: NSFetchRequest<NSFetchRequestResult> = NSFetchRequest(entityName: Order.entityName)
            fetchRequest.predicate = NSPredicate(format: "%K >= %d AND %K < %@",
                                                 #keyPath(Order.statusRaw), OrderStatus.delivered.rawValue,
                                                 #keyPath(Order.date), date as NSDate)

            let deleteRequest = NSBatchDeleteRequest(fetchRequest: fetchRequest)
            deleteRequest.resultType = .resultTypeObjectIDs

            let result = try context.execute(deleteRequest) as? NSBatchDeleteResult
            deletedIDs = result?.result as? [NSManagedObjectID] ?? []
        }

        let changes: [AnyHashable: Any] = [NSDeletedObjectsKey: deletedIDs]
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [container.viewContext])
        return deletedIDs.filter { $0.entity.name == Order.entityName }.count
    }

    func markAllPartsAsCounted(on date: Date) throws {
        let request = NSBatchUpdateRequest(entityName: Part.entityName)
        request.predicate = NSPredicate(format: "%K == NO", #keyPath(Part.isDiscontinued))
        request.propertiesToUpdate = [#keyPath(Part.lastCounted): date]
        request.resultType = .updatedObjectIDsResultType

        let context = container.viewContext
        let result = try context.execute(request) as? NSBatchUpdateResult
        let changes: [AnyHashable: Any] = [NSUpdatedObjectsKey: result?.result as? [NSManagedObjectID] ?? []]
        NSManagedObjectContext.mergeChanges(fromRemoteContextSave: changes, into: [context])
    }

}
