//
//  Part+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData

@objc(WSPart)
public class Part: NSManagedObject {

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(UUID(), forKey: #keyPath(Part.partID))
    }

    public override func validateForInsert() throws {
        try super.validateForInsert()
        if name.trimmingCharacters(in: .whitespaces).isEmpty {
            throw OrderBookError.missingName
        }
    }

    @objc public dynamic var needsReorder: Bool {
        guard !isDiscontinued, let level = reorderLevel else { return false }
        return stock <= level.int64Value
    }

    @objc public class func keyPathsForValuesAffectingNeedsReorder() -> Set<String> {
        return [#keyPath(Part.stock), #keyPath(Part.reorderLevel), #keyPath(Part.isDiscontinued)]
    }

    var stockValue: NSDecimalNumber {
        return price.multiplying(by: NSDecimalNumber(value: stock))
    }

    func count(_ quantity: Int64, on date: Date = Date()) {
        stock = quantity
        lastCounted = date
    }

}

extension Part: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [NSSortDescriptor(key: #keyPath(Part.name), ascending: true, selector: #selector(NSString.caseInsensitiveCompare(_:)))]
    }

    static var reorderPredicate: NSPredicate {
        return NSPredicate(format: "%K == NO AND %K != nil AND %K <= %K",
                           #keyPath(Part.isDiscontinued),
                           #keyPath(Part.reorderLevel),
                           #keyPath(Part.stock),
                           #keyPath(Part.reorderLevel))
    }

}
