//
//  Technician+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 02.05.24.
//
//

import Foundation
import CoreData

// Properties come from the data model (Codegen: Category/Extension).
@objc(Technician)
public class Technician: Party {

    @objc public dynamic var fullName: String {
        return [firstName, lastName].compactMap { $0 }.joined(separator: " ")
    }

    @objc public class func keyPathsForValuesAffectingFullName() -> Set<String> {
        return [#keyPath(Technician.firstName), #keyPath(Technician.lastName)]
    }

    var openHours: Double {
        let assigned = orders as? Set<Order> ?? []
        return assigned.filter { $0.status.isOpen }.reduce(0) { $0 + $1.estimatedHours }
    }

    func has(skill title: String) -> Bool {
        let owned = skills as? Set<Skill> ?? []
        return owned.contains { $0.title == title }
    }

}

extension Technician: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [
            NSSortDescriptor(keyPath: \Technician.lastName, ascending: true),
            NSSortDescriptor(keyPath: \Technician.firstName, ascending: true)
        ]
    }

    static var defaultPredicate: NSPredicate? {
        return NSPredicate(format: "%K == YES", #keyPath(Technician.isAvailable))
    }

}

// MARK: - Classes generated from the model

extension Supplier: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [NSSortDescriptor(keyPath: \Supplier.rating, ascending: false)]
    }

    var host: String? {
        return url?.host
    }

}

extension Skill: Managed { }

extension Attachment: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [NSSortDescriptor(keyPath: \Attachment.addedAt, ascending: true)]
    }

    static func insert(into context: NSManagedObjectContext, data: Data, fileName: String, order: Order) -> Attachment {
        let attachment: Attachment = context.insertObject()
        attachment.addedAt = Date()
        attachment.data = data
        attachment.byteCount = Int64(data.count)
        attachment.fileName = fileName
        attachment.order = order
        return attachment
    }

}
