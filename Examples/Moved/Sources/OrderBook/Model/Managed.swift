//
//  Managed.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//

import Foundation
import CoreData

protocol Managed: NSFetchRequestResult {
    static var entityName: String { get }
    static var defaultSortDescriptors: [NSSortDescriptor] { get }
    static var defaultPredicate: NSPredicate? { get }
}

extension Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return []
    }

    static var defaultPredicate: NSPredicate? {
        return nil
    }

    static var sortedFetchRequest: NSFetchRequest<Self> {
        let request = NSFetchRequest<Self>(entityName: entityName)
        request.sortDescriptors = defaultSortDescriptors
        request.predicate = defaultPredicate
        return request
    }

}

extension Managed where Self: NSManagedObject {

    // Not entity().name, that is nil as soon as the tests have loaded the model twice.
    static var entityName: String {
        return String(describing: self)
    }

    static func fetch(in context: NSManagedObjectContext,
                      configurationBlock: (NSFetchRequest<Self>) -> Void = { _ in }) throws -> [Self] {
        let request = NSFetchRequest<Self>(entityName: Self.entityName)
        configurationBlock(request)
        return try context.fetch(request)
    }

    static func count(in context: NSManagedObjectContext,
                      configure: (NSFetchRequest<Self>) -> Void = { _ in }) throws -> Int {
        let request = NSFetchRequest<Self>(entityName: entityName)
        configure(request)
        return try context.count(for: request)
    }

    static func findOrFetch(in context: NSManagedObjectContext, matching predicate: NSPredicate) -> Self? {
        if let object = materializedObject(in: context, matching: predicate) {
            return object
        }
        return try? fetch(in: context) { request in
            request.predicate = predicate
            request.returnsObjectsAsFaults = false
            request.fetchLimit = 1
        }.first
    }

    static func findOrCreate(in context: NSManagedObjectContext,
                             matching predicate: NSPredicate,
                             configure: (Self) -> Void) -> Self {
        if let object = findOrFetch(in: context, matching: predicate) {
            return object
        }
        let newObject: Self = context.insertObject()
        configure(newObject)
        return newObject
    }

    static func findOrCreate<Value: CVarArg>(in context: NSManagedObjectContext,
                                             where key: String,
                                             equals value: Value,
                                             configure: (Self) -> Void) -> Self {
        let predicate = NSPredicate(format: "%K == %@", argumentArray: [key, value])
        return findOrCreate(in: context, matching: predicate, configure: configure)
    }

    /// Looks through the registered objects only, does not touch the store.
    static func materializedObject(in context: NSManagedObjectContext, matching predicate: NSPredicate) -> Self? {
        for object in context.registeredObjects where !object.isFault && !object.isDeleted {
            guard let result = object as? Self, predicate.evaluate(with: result) else { continue }
            return result
        }
        return nil
    }

}

extension NSManagedObjectContext {

    func insertObject<A: NSManagedObject>() -> A where A: Managed {
        guard let object = NSEntityDescription.insertNewObject(forEntityName: A.entityName, into: self) as? A else {
            fatalError("Wrong object type for entity \(A.entityName)")
        }
        return object
    }

    @discardableResult
    func saveOrRollback() -> Bool {
        guard hasChanges else { return true }
        do {
            try save()
            return true
        } catch {
            rollback()
            return false
        }
    }

    func performChanges(block: @escaping () -> Void) {
        perform {
            block()
            self.saveOrRollback()
        }
    }

}
