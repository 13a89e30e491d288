//
//  Party+CoreDataClass.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//
//

import Foundation
import CoreData

@objc(Party)
public class Party: NSManagedObject {

    public override func awakeFromInsert() {
        super.awakeFromInsert()
        setPrimitiveValue(UUID(), forKey: #keyPath(Party.id))
        setPrimitiveValue(Date(), forKey: #keyPath(Party.createdAt))
    }

    /// Key-value validation hook, called by Core Data on save and by the edit form while typing.
    @objc(validateEmail:error:)
    public func validateEmail(_ value: AutoreleasingUnsafeMutablePointer<AnyObject?>) throws {
        guard let email = value.pointee as? String, !email.isEmpty else { return }
        let parts = email.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[0].isEmpty, parts[1].contains(".") else {
            throw OrderBookError.invalidEmail(email)
        }
    }

}
