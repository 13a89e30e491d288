//
//  OrderLine+CoreDataProperties.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData


extension OrderLine {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<OrderLine> {
        return NSFetchRequest<OrderLine>(entityName: "OrderLine")
    }

    @NSManaged public var details: String?
    @NSManaged public var discount: NSNumber?
    @NSManaged public var quantity: Int32
    @NSManaged public var unitPrice: NSDecimalNumber
    @NSManaged public var weight: NSNumber?
    @NSManaged public var order: Order?
    @NSManaged public var part: Part?

}

extension OrderLine : Identifiable {

}
