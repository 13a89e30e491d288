//
//  Part+CoreDataProperties.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData


extension Part {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Part> {
        return NSFetchRequest<Part>(entityName: "Part")
    }

    @NSManaged public var datasheet: URL?
    @NSManaged public var dimensions: Dimensions?
    @NSManaged public var image: Data?
    @NSManaged public var isDiscontinued: Bool
    @NSManaged public var lastCounted: Date?
    @NSManaged public var name: String
    @NSManaged public var partID: UUID
    @NSManaged public var price: NSDecimalNumber
    @NSManaged public var reorderLevel: NSNumber?
    @NSManaged public var searchName: String?
    @NSManaged public var sku: String
    @NSManaged public var stock: Int64
    @NSManaged public var orderLines: NSSet?
    @NSManaged public var suppliers: NSSet?

}

// MARK: Generated accessors for orderLines
extension Part {

    @objc(addOrderLinesObject:)
    @NSManaged public func addToOrderLines(_ value: OrderLine)

    @objc(removeOrderLinesObject:)
    @NSManaged public func removeFromOrderLines(_ value: OrderLine)

    @objc(addOrderLines:)
    @NSManaged public func addToOrderLines(_ values: NSSet)

    @objc(removeOrderLines:)
    @NSManaged public func removeFromOrderLines(_ values: NSSet)

}

// MARK: Generated accessors for suppliers
extension Part {

    @objc(addSuppliersObject:)
    @NSManaged public func addToSuppliers(_ value: Supplier)

    @objc(removeSuppliersObject:)
    @NSManaged public func removeFromSuppliers(_ value: Supplier)

    @objc(addSuppliers:)
    @NSManaged public func addToSuppliers(_ values: NSSet)

    @objc(removeSuppliers:)
    @NSManaged public func removeFromSuppliers(_ values: NSSet)

}

extension Part : Identifiable {

}
