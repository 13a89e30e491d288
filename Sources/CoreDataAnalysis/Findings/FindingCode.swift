// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The codes of all findings about models and migrations.
public enum FindingCode: String, Hashable, Sendable, CaseIterable {
  case entityRemoved = "DS101"
  case attributeRemoved = "DS102"
  case relationshipRemoved = "DS103"
  case toManyBecomesToOne = "DS104"
  case numberNarrowed = "DS105"
  case storedBecomesTransient = "DS106"
  case orderLost = "DS107"
  case externalDataDropped = "DS108"
  case otherTableDropped = "DS109"
  case newRequiredAttribute = "DD201"
  case optionalBecomesRequired = "DD202"
  case uniquenessAdded = "DD203"
  case validationTightened = "DD204"
  case minimumCountRaised = "DD205"
  case probableRename = "CM301"
  case unclearRename = "CM302"
  case notInferable = "CM303"
  case hierarchiesMerged = "CM304"
  case destinationChanged = "CM305"
  case shippedVersionEdited = "VR401"
  case noPath = "VR402"
  case staleMapping = "VR403"
  case equalVersions = "VR404"
  case currentMovedBack = "VR405"
  case stagesOutOfOrder = "VR406"
  case missingInverse = "MD501"
  case reservedName = "MD502"
  case insecureTransformer = "MD503"
  case requiredPair = "MD504"
  case stepNeedsCopy = "ST601"
  case littleDiskSpace = "ST602"
  case unmergedLog = "ST604"
  case noModelInStore = "ST605"

  /// Whether the code is about data loss.
  public var isLoss: Bool { rawValue.hasPrefix("DS") || self == .destinationChanged }

  /// Parses a code, ignoring case; nil if there is no such code.
  public init?(text: String) {
    self.init(rawValue: text.uppercased())
  }

  /// Returns up to three codes that are similar to a text.
  package static func nearest(to text: String) -> [FindingCode] {
    let wanted = Array(text.uppercased())
    func likeness(_ code: FindingCode) -> Int {
      zip(wanted, code.rawValue).reduce(0) { $0 + ($1.0 == $1.1 ? 1 : 0) }
    }
    let best = allCases.map(likeness).max() ?? 0
    guard best >= 2 else { return [] }
    return Array(allCases.filter { likeness($0) == best }.prefix(3))
  }

  /// Returns the message for an unknown code, with similar codes.
  package static func unknown(_ text: String) -> String {
    let near = nearest(to: text).map(\.rawValue)
    let shown = text.count > 40 ? "\(text.prefix(40))…" : text
    let advice =
      near.isEmpty
      ? "`coredata explain` lists all codes."
      : "The nearest codes are \(near.joined(separator: ", ")); `coredata explain` lists all of them."
    return "Unknown code \"\(shown)\": it is neither that of a finding or an error, nor a kind of problem. \(advice)"
  }
}
