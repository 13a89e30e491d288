//
//  Customer+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData

@objc(Customer)
public class Customer: Party {

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        newsletter = false
    }

    public override func validateForInsert() throws {
        try super.validateForInsert()
        try validateDisplayName()
    }

    public override func validateForUpdate() throws {
        try super.validateForUpdate()
        try validateDisplayName()
    }

    private func validateDisplayName() throws {
        if displayName.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty {
            throw OrderBookError.missingName
        }
    }

    // MARK: - Convenience

    /// First letter of the name, used for the index of the customer list.
    @objc public dynamic var initial: String {
        guard let first = displayName.first else { return "#" }
        return String(first).uppercased()
    }

    @objc public class func keyPathsForValuesAffectingInitial() -> Set<String> {
        return [#keyPath(Customer.displayName)]
    }

    var wantsNewsletter: Bool {
        get { newsletter?.boolValue ?? false }
        set { newsletter = NSNumber(value: newValue) }
    }

    var sortedOrders: [Order] {
        let byDate = NSSortDescriptor(key: #keyPath(Order.date), ascending: false)
        return orders?.sortedArray(using: [byDate]) as? [Order] ?? []
    }

    /// Sum of everything that is not delivered yet.
    var openAmount: NSDecimalNumber {
        return sortedOrders
            .filter { $0.status.isOpen }
            .reduce(NSDecimalNumber.zero) { $0.adding($1.total) }
    }

    var isOverCreditLimit: Bool {
        guard let limit = creditLimit, limit != .zero else { return false }
        return openAmount.compare(limit) == .orderedDescending
    }

}

extension Customer: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [NSSortDescriptor(key: #keyPath(Customer.displayName),
                                 ascending: true,
                                 selector: #selector(NSString.localizedStandardCompare(_:)))]
    }

}
