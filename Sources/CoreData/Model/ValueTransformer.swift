// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Converts values to other values and back. Transformable attributes are stored with it. Contexts and stores use a
/// transformer on any thread, so a subclass must guard its mutable state.
///
/// Foundation on Linux lacks this class. This one has Apple's name and behavior.
open class ValueTransformer: NSObject, NamedValueTransformer {
  /// The name of a transformer.
  public struct Name: RawRepresentable, Hashable, Sendable {
    /// The name as a string.
    public let rawValue: String

    /// Creates a name.
    public init(rawValue: String) {
      self.rawValue = rawValue
    }

    /// Creates a name.
    public init(_ rawValue: String) {
      self.rawValue = rawValue
    }
  }

  private static let lock = NSLock()
  nonisolated(unsafe) private static var transformers: [Name: ValueTransformer] = [
    .secureUnarchiveFromDataTransformerName: NSSecureUnarchiveFromDataTransformer(),
    .keyedUnarchiveFromDataTransformerName: AnyUnarchiveFromDataTransformer(),
    .unarchiveFromDataTransformerName: AnyUnarchiveFromDataTransformer(),
    .negateBooleanTransformerName: TestingTransformer { ($0 as? NSNumber)?.boolValue != true },
    .isNilTransformerName: TestingTransformer { $0 == nil },
    .isNotNilTransformerName: TestingTransformer { $0 != nil },
  ]

  /// Creates a transformer.
  public override init() {
    super.init()
  }

  /// Registers a transformer under a name.
  ///
  /// - Parameters:
  ///   - transformer: the transformer; nil to remove the one registered.
  ///   - name: the name that models use.
  public class func setValueTransformer(_ transformer: ValueTransformer?, forName name: Name) {
    lock.withLock { transformers[name] = transformer }
  }

  /// Returns the names of all registered transformers, sorted.
  public class func valueTransformerNames() -> [Name] {
    lock.withLock { transformers.keys.sorted { $0.rawValue < $1.rawValue } }
  }

  fileprivate static func known(by name: Name) -> ValueTransformer? {
    lock.withLock {
      if let known = transformers[name] { return known }
      // Models may have the name of the class instead.
      guard name.rawValue == "NSSecureUnarchiveFromDataTransformer" else { return nil }
      return transformers[.secureUnarchiveFromDataTransformerName]
    }
  }

  /// Returns the class of transformed values.
  open class func transformedValueClass() -> AnyClass { NSObject.self }

  /// Returns whether the transformer can convert values back.
  open class func allowsReverseTransformation() -> Bool { true }

  /// Converts a value.
  open func transformedValue(_ value: Any?) -> Any? { value }

  /// Converts a transformed value back.
  open func reverseTransformedValue(_ value: Any?) -> Any? { transformedValue(value) }
}

extension ValueTransformer.Name {
  /// A transformer from a Boolean value to its opposite.
  public static let negateBooleanTransformerName = Self("NSNegateBoolean")
  /// A transformer that returns whether the value is missing.
  public static let isNilTransformerName = Self("NSIsNil")
  /// A transformer that returns whether there is a value.
  public static let isNotNilTransformerName = Self("NSIsNotNil")
}

/// A transformer from values to Booleans.
private final class TestingTransformer: ValueTransformer {
  private let test: @Sendable (Any?) -> Bool

  init(_ test: @escaping @Sendable (Any?) -> Bool) {
    self.test = test
    super.init()
  }

  override class func transformedValueClass() -> AnyClass { NSNumber.self }

  override func transformedValue(_ value: Any?) -> Any? { NSNumber(value: test(value)) }
}

/// The name of a value transformer.
public typealias NSValueTransformerName = ValueTransformer.Name

/// A protocol that gives `ValueTransformer` an initializer which returns an existing object. Only initializers of a
/// protocol can assign `self`.
public protocol NamedValueTransformer {}

extension NamedValueTransformer where Self: ValueTransformer {
  /// Returns the transformer registered under a name, or nil.
  ///
  /// - Parameter name: the name that models use.
  public init?(forName name: NSValueTransformerName) {
    guard let known = ValueTransformer.known(by: name) as? Self else { return nil }
    self = known
  }
}
