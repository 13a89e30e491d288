//
//  MigrationPolicies.swift
//  OrderBook
//
//  Created by Martin Kessler on 21.08.24.
//

import CoreData

/// Version 3 has one display name instead of first and last name.
/// The mapping model calls displayNameForFirst:last: for the attribute.
class CustomerMigrationPolicy2to3: NSEntityMigrationPolicy {

    @objc(displayNameForFirst:last:)
    func displayName(first: String?, last: String?) -> String {
        let name = [first, last]
            .compactMap { $0?.trimmingCharacters(in: .whitespacesAndNewlines) }
            .filter { !$0.isEmpty }
            .joined(separator: " ")
        return name.isEmpty ? "Unknown" : name
    }

}

/// Version 3 stores the status as a number.
@objc(OrderMigrationPolicy2to3)
class OrderMigrationPolicy2to3: NSEntityMigrationPolicy {

    private static let statusByName: [String: OrderStatus] = [
        "draft": .draft,
        "confirmed": .confirmed,
        "in progress": .inProgress,
        "ready": .ready,
        "delivered": .delivered,
        "cancelled": .cancelled
    ]

    private var unknownStatusCount = 0

    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        try super.begin(mapping, with: manager)
        unknownStatusCount = 0
    }

    override func createDestinationInstances(forSource sInstance: NSManagedObject,
                                             in mapping: NSEntityMapping,
                                             manager: NSMigrationManager) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)

        guard let order = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first else {
            return
        }

        let name = (sInstance.value(forKey: "status") as? String ?? "").lowercased()
        if let status = OrderMigrationPolicy2to3.statusByName[name] {
            order.setValue(status.rawValue, forKey: "statusRaw")
        } else {
            order.setValue(OrderStatus.draft.rawValue, forKey: "statusRaw")
            unknownStatusCount += 1
        }
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        if unknownStatusCount > 0 {
            NSLog("%d orders had an unknown status, they are drafts now", unknownStatusCount)
        }
        try super.end(mapping, manager: manager)
    }

}
