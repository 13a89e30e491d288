//
//  Party+CoreDataProperties.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData


extension Party {

    @nonobjc public class func fetchRequest() -> NSFetchRequest<Party> {
        return NSFetchRequest<Party>(entityName: "Party")
    }

    @NSManaged public var createdAt: Date
    @NSManaged public var email: String?
    @NSManaged public var id: UUID
    @NSManaged public var phone: String?

}

extension Party : Identifiable {

}
