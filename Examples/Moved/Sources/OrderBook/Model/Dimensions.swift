//
//  Dimensions.swift
//  OrderBook
//
//  Created by Martin Kessler on 02.05.24.
//

import Foundation

/// Outer dimensions of a part in millimetres.
@objc(WSDimensions)
public final class Dimensions: NSObject, NSSecureCoding {

    public static var supportsSecureCoding: Bool { true }

    @objc public let width: Double
    @objc public let height: Double
    @objc public let depth: Double
    @objc public let unit: String

    public init(width: Double, height: Double, depth: Double, unit: String = "mm") {
        self.width = width
        self.height = height
        self.depth = depth
        self.unit = unit
        super.init()
    }

    public required init?(coder: NSCoder) {
        guard let unit = coder.decodeObject(of: NSString.self, forKey: "unit") as String? else { return nil }
        self.width = coder.decodeDouble(forKey: "width")
        self.height = coder.decodeDouble(forKey: "height")
        self.depth = coder.decodeDouble(forKey: "depth")
        self.unit = unit
        super.init()
    }

    public func encode(with coder: NSCoder) {
        coder.encode(width, forKey: "width")
        coder.encode(height, forKey: "height")
        coder.encode(depth, forKey: "depth")
        coder.encode(unit as NSString, forKey: "unit")
    }

    public var volume: Double {
        return width * height * depth
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Dimensions else { return false }
        return width == other.width && height == other.height && depth == other.depth && unit == other.unit
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(width)
        hasher.combine(height)
        hasher.combine(depth)
        hasher.combine(unit)
        return hasher.finalize()
    }

    public override var description: String {
        return "\(width) × \(height) × \(depth) \(unit)"
    }

}

@objc(DimensionsTransformer)
final class DimensionsTransformer: NSSecureUnarchiveFromDataTransformer {

    /// The name used in the data model.
    static let name = NSValueTransformerName(rawValue: String(describing: DimensionsTransformer.self))

    override static var allowedTopLevelClasses: [AnyClass] {
        return [Dimensions.self]
    }

    override class func transformedValueClass() -> AnyClass {
        return Dimensions.self
    }

    override class func allowsReverseTransformation() -> Bool {
        return true
    }

    /// Has to be called before the store is loaded.
    static func register() {
        ValueTransformer.setValueTransformer(DimensionsTransformer(), forName: name)
    }

}
