// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Something to know before a migration, under a stable code.
public struct Finding: Hashable, Sendable {
  /// How much a finding matters.
  public enum Level: String, Hashable, Sendable, Comparable, CaseIterable {
    /// Nothing is lost, a policy handles it, or the developer has allowed it.
    case information = "info"
    case warning = "warn"
    /// Data would be lost, or the migration would fail.
    case error

    /// From the least to the worst.
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

  /// The code, as `DS102`.
  public let code: FindingCode
  /// The level in this migration.
  public internal(set) var level: Level
  /// The entity by its name in the newer version, or in the older one where it is removed.
  public let entity: String?
  /// The property; nil where the finding is about the entity itself.
  public let property: String?
  /// The finding in a sentence, without the names of entity and property.
  public internal(set) var message: String
  /// Whether the migration would fail, so that nothing would be lost and no allowance helps.
  public internal(set) var isFailure = false
  /// The entity by its name in the older version; nil where it is new.
  let sourceEntity: String?
  /// The property by its name in the older version.
  let sourceProperty: String?
  /// The allowance of what would otherwise be an error or a warning; nil where none is needed.
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

  /// The finding as one that stops the migration, where it is an error.
  var asFailure: Finding {
    var finding = self
    finding.isFailure = level == .error
    return finding
  }

  /// The finding as information, where an allowance covers it.
  func allowed(by allowance: FindingAllowance?) -> Finding {
    guard let allowance, level > .information, !isFailure else { return self }
    var finding = self
    finding.level = .information
    finding.allowance = allowance
    return finding
  }

  /// The finding with a level that is no higher than the one given, unless the migration would fail.
  func lowered(to limit: Level) -> Finding {
    var finding = self
    if !isFailure { finding.level = min(level, limit) }
    return finding
  }

  /// The finding as a warning, since its outcome depends on a mapping model.
  var doubted: Finding {
    var finding = self
    finding.isFailure = false
    finding.level = min(level, .warning)
    return finding
  }

  /// The finding about objects that migration policies handle, whose results are unknown.
  func decided(by policies: [String]) -> Finding {
    var finding = self
    finding.level = .information
    finding.isFailure = false
    finding.allowance = nil
    let names = policies.joined(separator: " and ")
    finding.message += policies.count == 1 ? "; the policy \(names) decides" : "; the policies \(names) decide"
    return finding
  }

  /// Entity and property, as `Order.total`.
  public var place: String {
    [entity, property].compactMap { $0 }.joined(separator: ".")
  }

  /// The place and the message, as `Order.total: validation is stricter`.
  package var sentence: String { place.isEmpty ? message : "\(place): \(message)" }

  /// The worst first, then by code and place.
  static func areInOrder(_ left: Finding, _ right: Finding) -> Bool {
    if left.level != right.level { return left.level > right.level }
    return (left.code.rawValue, left.place) < (right.code.rawValue, right.place)
  }
}
