// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Something that a person should know before a migration, under a code that stays the same.
public struct Finding: Hashable, Sendable {
  /// How much a finding matters.
  public enum Level: String, Hashable, Sendable, Comparable, CaseIterable {
    /// Good to know: nothing is lost, or the developer has allowed it.
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
  /// How much it matters here.
  public let level: Level
  /// The entity by its name in the newer version, or in the older one where it is removed.
  public let entity: String?
  /// The property; nil where the finding is about the entity itself.
  public let property: String?
  /// What was found, in a sentence without the names of entity and property.
  public let message: String
  /// Why the developer allowed it, from the user info key `coredata.allow`; nil where it is not allowed.
  public let allowance: String?

  /// The finding with a level that is no higher than the one given.
  func lowered(to limit: Level) -> Finding {
    Finding(
      code: code, level: min(level, limit), entity: entity, property: property, message: message, allowance: allowance)
  }

  /// The finding as one that is allowed, where it is about data that would be lost.
  func allowingLoss(by reason: String) -> Finding {
    guard code.isLoss, level == .error else { return self }
    return Finding(
      code: code, level: .information, entity: entity, property: property, message: message, allowance: reason)
  }

  /// Entity and property, as `Order.total`.
  public var place: String {
    [entity, property].compactMap { $0 }.joined(separator: ".")
  }
}

/// The codes of findings about migrations.
public enum FindingCode: String, Hashable, Sendable, CaseIterable {
  case entityRemoved = "DS101"
  case attributeRemoved = "DS102"
  case relationshipRemoved = "DS103"
  case toManyBecomesToOne = "DS104"
  case numberNarrowed = "DS105"
  case storedBecomesTransient = "DS106"
  case orderLost = "DS107"
  case externalDataDropped = "DS108"
  case newRequiredAttribute = "DD201"
  case optionalBecomesRequired = "DD202"
  case uniquenessAdded = "DD203"
  case validationTightened = "DD204"
  case minimumCountRaised = "DD205"
  case notInferable = "CM303"
  case hierarchiesMerged = "CM304"
  case destinationChanged = "CM305"

  /// Whether it tells of data that would be lost, and not of a migration that would fail.
  package var isLoss: Bool { rawValue.hasPrefix("DS") || self == .destinationChanged }
}

/// How many rows and values a store has, as far as somebody has counted them.
public struct StoreCounts: Hashable, Sendable {
  /// Rows of exactly each entity, without those of its sub-entities.
  public var rows: [String: Int]
  /// Values that are not null, by entity and property; what is not there was not counted.
  public var values: [String: [String: Int]]

  /// Makes counts.
  public init(rows: [String: Int], values: [String: [String: Int]] = [:]) {
    self.rows = rows
    self.values = values
  }
}
