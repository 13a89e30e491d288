// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A fact to consider before a migration, identified by a stable code.
public struct Finding: Hashable, Sendable {
  /// The severity of a finding.
  public enum Level: String, Hashable, Sendable, Comparable, CaseIterable {
    /// Nothing is lost, a policy handles it, or the developer has allowed it.
    case information = "info"
    case warning = "warn"
    /// Data would be lost, or the migration would fail.
    case error

    /// Orders levels from the least to the most severe.
    public static func < (left: Level, right: Level) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int {
      switch self {
      case .information: 0
      case .warning: 1
      case .error: 2
      }
    }
  }

  /// The code, such as `DS102`.
  public let code: FindingCode
  /// The severity in this migration.
  public internal(set) var level: Level
  /// The entity's name in the newer version, or in the older version if it was removed.
  public let entity: String?
  /// The name of the property; nil for a finding about the entity itself.
  public let property: String?
  /// The finding as a sentence, without the names of entity and property.
  public internal(set) var message: String
  /// Whether the migration would fail. Nothing would be lost, and the finding cannot be allowed.
  public internal(set) var isFailure = false
  /// The entity's name in the older version; nil if it is new.
  let sourceEntity: String?
  /// The property's name in the older version.
  let sourceProperty: String?
  /// The allowance that lowered the finding to information; nil if none applied.
  public internal(set) var allowance: FindingAllowance?

  init(
    _ code: FindingCode, _ level: Level, entity: String?, property: String?, sourceEntity: String?,
    sourceProperty: String?, _ message: String
  ) {
    self.code = code
    self.level = level
    self.entity = entity
    self.property = property
    self.sourceEntity = sourceEntity
    self.sourceProperty = sourceProperty
    self.message = message
  }

  /// The same finding, marked as a failure of the migration if it is an error.
  var asFailure: Finding {
    var finding = self
    finding.isFailure = level == .error
    return finding
  }

  /// Returns the finding as information if an allowance covers it.
  func allowed(by allowance: FindingAllowance?) -> Finding {
    guard let allowance, level > .information, !isFailure else { return self }
    var finding = self
    finding.level = .information
    finding.allowance = allowance
    return finding
  }

  /// Returns the finding with its level limited, unless the migration would fail.
  func lowered(to limit: Level) -> Finding {
    var finding = self
    if !isFailure { finding.level = min(level, limit) }
    return finding
  }

  /// The finding as a warning, because the outcome depends on a mapping model.
  var doubted: Finding {
    var finding = self
    finding.isFailure = false
    finding.level = min(level, .warning)
    return finding
  }

  /// Returns the finding about objects handled by migration policies, whose results are unknown.
  func decided(by policies: [String]) -> Finding {
    var finding = self
    finding.level = .information
    finding.isFailure = false
    finding.allowance = nil
    let names = policies.joined(separator: " and ")
    finding.message += policies.count == 1 ? "; the policy \(names) decides" : "; the policies \(names) decide"
    return finding
  }

  /// Entity and property, such as `Order.total`.
  public var place: String {
    [entity, property].compactMap { $0 }.joined(separator: ".")
  }

  /// The place and the message, such as `Order.total: validation is stricter`.
  package var sentence: String { place.isEmpty ? message : "\(place): \(message)" }

  /// Whether a finding comes before another: more severe first, then by code and place.
  static func areInOrder(_ left: Finding, _ right: Finding) -> Bool {
    if left.level != right.level { return left.level > right.level }
    return (left.code.rawValue, left.place) < (right.code.rawValue, right.place)
  }
}
