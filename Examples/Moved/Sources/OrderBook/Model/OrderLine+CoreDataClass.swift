//
//  OrderLine+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData

@objc(OrderLine)
@objcMembers
public class OrderLine: NSManagedObject {

    static let currencyBehavior = NSDecimalNumberHandler(roundingMode: .bankers,
                                                         scale: 2,
                                                         raiseOnExactness: false,
                                                         raiseOnOverflow: false,
                                                         raiseOnUnderflow: false,
                                                         raiseOnDivideByZero: true)

    public dynamic var lineTotal: NSDecimalNumber {
        let gross = unitPrice.multiplying(by: NSDecimalNumber(value: quantity))
        guard let discount = discount else { return gross }
        let factor = NSDecimalNumber(value: 100).subtracting(NSDecimalNumber(value: discount.floatValue)).dividing(by: 100)
        return gross.multiplying(by: factor).rounding(accordingToBehavior: OrderLine.currencyBehavior)
    }

    public dynamic var title: String {
        return details ?? part?.name ?? NSLocalizedString("Untitled", comment: "Order line without text")
    }

    public class func keyPathsForValuesAffectingLineTotal() -> Set<String> {
        return [
            #keyPath(OrderLine.quantity),
            #keyPath(OrderLine.unitPrice),
            #keyPath(OrderLine.discount)
        ]
    }

    public class func keyPathsForValuesAffectingTitle() -> Set<String> {
        return [#keyPath(OrderLine.details), #keyPath(OrderLine.part.name)]
    }

    public var position: Int {
        guard let index = order?.lines?.index(of: self), index != NSNotFound else { return 0 }
        return index + 1
    }

}

extension OrderLine: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [NSSortDescriptor(keyPath: \OrderLine.quantity, ascending: false)]
    }

}
