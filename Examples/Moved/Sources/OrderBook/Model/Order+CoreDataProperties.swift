//
//  Order+CoreDataProperties.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData


extension Order {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Order> {
        return NSFetchRequest<Order>(entityName: "Order")
    }

    // date and sectionIdentifier have custom accessors in Order+CoreDataClass.swift

    @NSManaged public var discountPercent: Float
    @NSManaged public var dueDate: TimeInterval
    @NSManaged public var estimatedHours: Double
    @NSManaged public var isRush: Bool
    @NSManaged public var lineCount: Int64
    @NSManaged public var modifiedAt: Date?
    @NSManaged public var note: String?
    @NSManaged public var reference: String
    @NSManaged public var statusRaw: Int16
    @NSManaged public var tags: [String]?
    @NSManaged public var attachments: NSSet?
    @NSManaged public var customer: Customer?
    @NSManaged public var lines: NSOrderedSet?
    @NSManaged public var technician: Technician?

}

// MARK: Generated accessors for attachments
extension Order {

    @objc(addAttachmentsObject:)
    @NSManaged public func addToAttachments(_ value: Attachment)

    @objc(removeAttachmentsObject:)
    @NSManaged public func removeFromAttachments(_ value: Attachment)

    @objc(addAttachments:)
    @NSManaged public func addToAttachments(_ values: NSSet)

    @objc(removeAttachments:)
    @NSManaged public func removeFromAttachments(_ values: NSSet)

}

// MARK: Generated accessors for lines
extension Order {

    @objc(insertObject:inLinesAtIndex:)
    @NSManaged public func insertIntoLines(_ value: OrderLine, at idx: Int)

    @objc(removeObjectFromLinesAtIndex:)
    @NSManaged public func removeFromLines(at idx: Int)

    @objc(insertLines:atIndexes:)
    @NSManaged public func insertIntoLines(_ values: [OrderLine], at indexes: NSIndexSet)

    @objc(removeLinesAtIndexes:)
    @NSManaged public func removeFromLines(at indexes: NSIndexSet)

    @objc(replaceObjectInLinesAtIndex:withObject:)
    @NSManaged public func replaceLines(at idx: Int, with value: OrderLine)

    @objc(replaceLinesAtIndexes:withLines:)
    @NSManaged public func replaceLines(at indexes: NSIndexSet, with values: [OrderLine])

    @objc(addLinesObject:)
    @NSManaged public func addToLines(_ value: OrderLine)

    @objc(removeLinesObject:)
    @NSManaged public func removeFromLines(_ value: OrderLine)

    @objc(addLines:)
    @NSManaged public func addToLines(_ values: NSOrderedSet)

    @objc(removeLines:)
    @NSManaged public func removeFromLines(_ values: NSOrderedSet)

}

extension Order : Identifiable {

}
