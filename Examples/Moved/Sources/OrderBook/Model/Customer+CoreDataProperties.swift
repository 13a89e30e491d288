//
//  Customer+CoreDataProperties.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData


extension Customer {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Customer> {
        return NSFetchRequest<Customer>(entityName: "Customer")
    }

    @NSManaged public var creditLimit: NSDecimalNumber?
    @NSManaged public var customerNumber: Int32
    @NSManaged public var displayName: String
    @NSManaged public var newsletter: NSNumber?
    @NSManaged public var orderCount: Int64
    @NSManaged public var website: URL?
    @NSManaged public var orders: NSSet?
    @NSManaged public var preferredTechnician: Technician?
    @NSManaged public var openOrders: [Order]?

}

// MARK: Generated accessors for orders
extension Customer {

    @objc(addOrdersObject:)
    @NSManaged public func addToOrders(_ value: Order)

    @objc(removeOrdersObject:)
    @NSManaged public func removeFromOrders(_ value: Order)

    @objc(addOrders:)
    @NSManaged public func addToOrders(_ values: NSSet)

    @objc(removeOrders:)
    @NSManaged public func removeFromOrders(_ values: NSSet)

}
