//
//  OrderStatus.swift
//  OrderBook
//
//  Created by Martin Kessler on 14.03.24.
//

import Foundation

/// Raw values are stored in `Order.statusRaw`, never renumber them.
@objc public enum OrderStatus: Int16, CaseIterable {
    case draft = 0
    case confirmed = 1
    case inProgress = 2
    case ready = 3
    case delivered = 4
    case cancelled = 5

    public var isOpen: Bool {
        switch self {
        case .draft, .confirmed, .inProgress, .ready:
            return true
        case .delivered, .cancelled:
            return false
        }
    }

    /// Parts of the order are taken out of the stock in these states.
    public var reservesStock: Bool {
        return self == .confirmed || self == .inProgress || self == .ready
    }

    public var title: String {
        switch self {
        case .draft: return NSLocalizedString("Draft", comment: "Order status")
        case .confirmed: return NSLocalizedString("Confirmed", comment: "Order status")
        case .inProgress: return NSLocalizedString("In progress", comment: "Order status")
        case .ready: return NSLocalizedString("Ready", comment: "Order status")
        case .delivered: return NSLocalizedString("Delivered", comment: "Order status")
        case .cancelled: return NSLocalizedString("Cancelled", comment: "Order status")
        }
    }
}

enum OrderBookError: LocalizedError, Equatable {
    case invalidEmail(String)
    case missingName
    case dueBeforeOrder
    case emptyConfirmedOrder
    case notEnoughStock(sku: String)
    case storeVersionUnknown
    case missingMappingModel

    var errorDescription: String? {
        switch self {
        case .invalidEmail(let email):
            return String(format: NSLocalizedString("“%@” is not a valid email address.", comment: ""), email)
        case .missingName:
            return NSLocalizedString("Please enter a name.", comment: "")
        case .dueBeforeOrder:
            return NSLocalizedString("The due date is before the order date.", comment: "")
        case .emptyConfirmedOrder:
            return NSLocalizedString("A confirmed order needs at least one line.", comment: "")
        case .notEnoughStock(let sku):
            return String(format: NSLocalizedString("There is not enough stock of %@.", comment: ""), sku)
        case .storeVersionUnknown:
            return NSLocalizedString("The order book was written by a newer version of the app.", comment: "")
        case .missingMappingModel:
            return NSLocalizedString("The order book could not be updated.", comment: "")
        }
    }
}
