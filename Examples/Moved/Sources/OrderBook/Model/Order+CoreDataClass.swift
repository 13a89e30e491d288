//
//  Order+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData

@objc(Order)
public class Order: NSManagedObject {

    @NSManaged private var primitiveDate: Date?
    @NSManaged private var primitiveStatusRaw: Int16
    @NSManaged private var primitiveSectionIdentifier: String?
    @NSManaged private var primitiveModifiedAt: Date?

    private static let sectionFormatter: DateFormatter = {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy-MM"
        return formatter
    }()

    // MARK: - Custom accessors

    @objc public dynamic var date: Date {
        get {
            willAccessValue(forKey: #keyPath(Order.date))
            defer { didAccessValue(forKey: #keyPath(Order.date)) }
            return primitiveDate ?? .distantPast
        }
        set {
            willChangeValue(forKey: #keyPath(Order.date))
            primitiveDate = newValue
            didChangeValue(forKey: #keyPath(Order.date))
            // The section is cached, throw it away when the month may have changed.
            primitiveSectionIdentifier = nil
        }
    }

    @objc public dynamic var status: OrderStatus {
        get {
            willAccessValue(forKey: #keyPath(Order.statusRaw))
            defer { didAccessValue(forKey: #keyPath(Order.statusRaw)) }
            return OrderStatus(rawValue: primitiveStatusRaw) ?? .draft
        }
        set {
            willChangeValue(forKey: #keyPath(Order.statusRaw))
            primitiveStatusRaw = newValue.rawValue
            didChangeValue(forKey: #keyPath(Order.statusRaw))
        }
    }

    @objc public class func keyPathsForValuesAffectingStatus() -> Set<String> {
        return [#keyPath(Order.statusRaw)]
    }

    /// Transient, "2024-03". Section name of the order list.
    @objc public dynamic var sectionIdentifier: String? {
        willAccessValue(forKey: #keyPath(Order.sectionIdentifier))
        var identifier = primitiveSectionIdentifier
        didAccessValue(forKey: #keyPath(Order.sectionIdentifier))

        if identifier == nil {
            identifier = Order.sectionFormatter.string(from: date)
            primitiveSectionIdentifier = identifier
        }
        return identifier
    }

    @objc public class func keyPathsForValuesAffectingSectionIdentifier() -> Set<String> {
        return [#keyPath(Order.date)]
    }

    /// `dueDate` is a scalar and cannot tell "none" from 1 January 2001.
    var due: Date? {
        get {
            willAccessValue(forKey: #keyPath(Order.dueDate))
            defer { didAccessValue(forKey: #keyPath(Order.dueDate)) }
            return primitiveValue(forKey: #keyPath(Order.dueDate)) as? Date
        }
        set {
            willChangeValue(forKey: #keyPath(Order.dueDate))
            setPrimitiveValue(newValue, forKey: #keyPath(Order.dueDate))
            didChangeValue(forKey: #keyPath(Order.dueDate))
        }
    }

    // MARK: - Computed values

    var orderLines: [OrderLine] {
        return lines?.array as? [OrderLine] ?? []
    }

    @objc public dynamic var total: NSDecimalNumber {
        let sum = orderLines.reduce(NSDecimalNumber.zero) { $0.adding($1.lineTotal) }
        guard discountPercent > 0 else { return sum }
        let factor = NSDecimalNumber(value: 100 - discountPercent).dividing(by: 100)
        return sum.multiplying(by: factor).rounding(accordingToBehavior: OrderLine.currencyBehavior)
    }

    var isOverdue: Bool {
        guard let due = due else { return false }
        return status.isOpen && due < Date()
    }

    // MARK: - Life cycle

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(Date(), forKey: #keyPath(Order.date))
        setPrimitiveValue([String](), forKey: #keyPath(Order.tags))
    }

    public override func willSave() {
        super.willSave()
        if !isDeleted && hasPersistentChangedValues {
            // Primitive, the public setter would call willSave again and again.
            primitiveModifiedAt = Date()
        }
    }

    public override func prepareForDeletion() {
        super.prepareForDeletion()
        if status.reservesStock {
            returnPartsToStock()
        }
    }

    public override func validateForInsert() throws {
        try super.validateForInsert()
        try validateConsistency()
    }

    public override func validateForUpdate() throws {
        try super.validateForUpdate()
        try validateConsistency()
    }

    private func validateConsistency() throws {
        if let due = due, due < date {
            throw OrderBookError.dueBeforeOrder
        }
        if status.reservesStock && (lines?.count ?? 0) == 0 {
            throw OrderBookError.emptyConfirmedOrder
        }
    }

    // MARK: - Workflow

    @discardableResult
    func addLine(for part: Part, quantity: Int32 = 1) -> OrderLine {
        let line = OrderLine(context: managedObjectContext!)
        line.part = part
        line.details = part.name
        line.quantity = quantity
        line.unitPrice = part.price
        addToLines(line)
        return line
    }

    func moveLine(from source: Int, to destination: Int) {
        guard source != destination, let line = lines?.object(at: source) as? OrderLine else { return }
        removeFromLines(at: source)
        insertIntoLines(line, at: destination)
    }

    func confirm() throws {
        guard status == .draft else { return }
        for line in orderLines {
            guard let part = line.part else { continue }
            if part.stock < Int64(line.quantity) {
                throw OrderBookError.notEnoughStock(sku: part.sku)
            }
        }
        for line in orderLines {
            line.part?.stock -= Int64(line.quantity)
        }
        status = .confirmed
    }

    func cancel() {
        if status.reservesStock {
            returnPartsToStock()
        }
        status = .cancelled
    }

    private func returnPartsToStock() {
        for line in orderLines {
            line.part?.stock += Int64(line.quantity)
        }
    }

}

extension Order: Managed {

    static var defaultSortDescriptors: [NSSortDescriptor] {
        return [
            NSSortDescriptor(keyPath: \Order.date, ascending: false),
            NSSortDescriptor(keyPath: \Order.reference, ascending: true)
        ]
    }

}
