// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Turns values into other values and back: what transformable attributes are stored with.
///
/// Foundation off Apple's systems has no such class; this one carries Apple's name and meaning.
open class ValueTransformer: NSObject, NamedValueTransformer, @unchecked Sendable {
  /// The name of a transformer.
  public struct Name: RawRepresentable, Hashable, Sendable {
    /// The name as text.
    public let rawValue: String

    /// Makes a name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Makes a name.
    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }
  }

  private static let lock = NSLock()
  nonisolated(unsafe) private static var transformers: [Name: ValueTransformer] = [
    .secureUnarchiveFromDataTransformerName: NSSecureUnarchiveFromDataTransformer()
  ]

  /// Makes a transformer.
  public override init() {
    super.init()
  }

  /// Makes a transformer known by a name.
  ///
  /// - Parameters:
  ///   - transformer: the transformer; nil to forget the name.
  ///   - name: the name that models use.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: Name) {
    lock.withLock { transformers[name] = transformer }
  }

  /// The names that transformers are known by, sorted.
  public class func valueTransformerNames() -> [Name] {
    lock.withLock { transformers.keys.sorted { $0.rawValue < $1.rawValue } }
  }

  /// The transformer of a name; nil when none has been set.
  fileprivate static func known(by name: Name) -> ValueTransformer? {
    lock.withLock { transformers[name] }
  }

  /// The class of what `transformedValue(_:)` makes.
  open class func transformedValueClass() -> AnyClass { NSObject.self }

  /// Whether there is a way back.
  open class func allowsReverseTransformation() -> Bool { true }

  /// The other form of a value.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// The value of another form.
  open func reverseTransformedValue(_ value: Any?) -> Any? { transformedValue(value) }
}

/// The name of a value transformer.
public typealias NSValueTransformerName = ValueTransformer.Name

/// What lets `ValueTransformer` have an initializer that gives an object which exists: initializers of a protocol may choose
/// the instance.
public protocol NamedValueTransformer {}

extension NamedValueTransformer where Self: ValueTransformer {
  /// The transformer of a name; nil when none has been set.
  ///
  /// - Parameter name: the name that models use.
  public init?(forName name: NSValueTransformerName) {
    guard let known = ValueTransformer.known(by: name) as? Self else { return nil }
    self = known
  }
}
