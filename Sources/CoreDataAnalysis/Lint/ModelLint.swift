// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Findings about a model, its versions and the steps between them, without a store.
public struct ModelLint {
  /// A finding with the version that it is about.
  public struct Entry: Hashable, Sendable {
    /// The version; the newer one of a step.
    public let version: String
    /// The older version of a step; nil for a finding about one version.
    public let source: String?
    /// What was found.
    public internal(set) var finding: Finding

    init(_ version: String, from source: String? = nil, _ finding: Finding) {
      self.version = version
      self.source = source
      self.finding = finding
    }
  }

  /// What is looked at, and how it is judged.
  public struct Options: Sendable {
    /// Whether all steps are judged, not only the one that leads to the current version.
    public var includesAllSteps = false
    /// Mapping models, or directories of them.
    public var mappings: [URL] = []
    /// The versions that have been shipped.
    public var lock: VersionLock?
    /// The stages of the app's staged migration, whose order is judged (VR406); nil to judge none.
    public var stages: [NSMigrationStage]?
    /// Levels of codes in place of their own; `.some(nil)` leaves the findings out.
    public var levels: [FindingCode: Finding.Level?] = [:]
    /// Findings that are allowed.
    public var allowances: FindingAllowances = []

    /// The options of a plain check.
    public init() {}
  }

  /// The name of the current version.
  public let current: String
  /// How many steps were judged.
  public let stepCount: Int
  /// The findings, worst first, then by version, code and place.
  public private(set) var entries: [Entry] = []

  /// The number of findings of a level.
  public func count(of level: Finding.Level) -> Int { entries.count { $0.finding.level == level } }

  /// Checks a model.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.momd`, or a single version.
  ///   - options: what is looked at.
  /// - Throws: the errors of reading models; 134060 where no version is the current one.
  public init(modelsAt url: URL, options: Options = Options()) throws {
    try self.init(ModelVersions(contentsOf: url), options)
  }

  /// Checks versions that are known.
  package init(_ known: ModelVersions, _ options: Options) throws {
    let versions = known.versions
    guard let position = versions.lastIndex(where: { $0.name == known.currentName }) ?? versions.indices.last else {
      throw ModelFileError(.missingContents, found: "The model has no version.", advice: "Name another one.")
    }
    current = versions[position].name
    let steps = zip(versions[...position], versions[...position].dropFirst())
    let judged = options.includesAllSteps ? Array(steps) : Array(steps.suffix(1))
    stepCount = judged.count
    var found = ModelRules(versions[position].document).findings.map { Entry(current, $0) }
    for (old, new) in judged {
      let isShipped = options.lock.map { $0.has(old.name) && $0.has(new.name) } ?? false
      found += Self.findings(from: old, to: new, known, options.mappings).map { finding in
        Entry(new.name, from: old.name, isShipped ? finding.shipped : finding)
      }
    }
    found += Self.equal(Array(versions[...position]), options.includesAllSteps ? nil : current)
    found += Self.pathless(known, versions, to: current, options)
    found += try Self.stale(options.mappings, versions)
    if let lock = options.lock { found += lock.findings(versions, current: current) }
    if let stages = options.stages {
      found += StageRules(stages, versions, current: current, lock: options.lock).entries
    }
    entries = found.compactMap { Self.judged($0, options) }.sorted(by: Self.areInOrder)
  }

  /// The entry with the level that the options give it; nil where they leave it out.
  private static func judged(_ entry: Entry, _ options: Options) -> Entry? {
    var entry = entry
    if let level = options.levels[entry.finding.code] {
      guard let level else { return nil }
      if entry.finding.level > .information { entry.finding.level = level }
    }
    entry.finding = options.allowances.applied(to: entry.finding)
    return entry
  }

  private static func areInOrder(_ left: Entry, _ right: Entry) -> Bool {
    if left.finding.level != right.finding.level { return left.finding.level > right.finding.level }
    return (left.version, left.finding.code.rawValue, left.finding.place)
      < (right.version, right.finding.code.rawValue, right.finding.place)
  }

  // MARK: Steps

  /// The findings of a step, by a mapping model where there is one for it.
  private static func findings(
    from old: ModelVersion, to new: ModelVersion, _ known: ModelVersions, _ mappings: [URL]
  ) -> [Finding] {
    // What is wrong with the mapping models is told for the path.
    guard !mappings.isEmpty, old.hashes != new.hashes,
      let step = try? MigrationPath(
        known: known, from: old.name, to: new.name, mappings: mappings, isProgressive: false
      ).steps.first, step.kind == .mapping
    else {
      return MigrationFindings(from: old.document, to: new.document).findings
    }
    return MappingFindings(step.mappingModel, from: step.sourceModel, to: step.destinationModel, counts: nil).findings
  }

  // MARK: Versions

  /// Versions that Core Data cannot tell apart.
  ///
  /// - Parameter name: the only version that is compared with those before; nil for all.
  private static func equal(_ versions: [ModelVersion], _ name: String?) -> [Entry] {
    var entries: [Entry] = []
    var last: [[String: Data]: String] = [:]
    for version in versions {
      let twin = last.updateValue(version.name, forKey: version.hashes)
      guard name == nil || version.name == name, let twin else { continue }
      entries.append(
        Entry(
          version.name, from: twin, finding(.equalVersions, .warning, "has the same version hashes as \(twin)")))
    }
    return entries
  }

  /// Versions from which no path leads to the current one.
  private static func pathless(
    _ known: ModelVersions, _ versions: [ModelVersion], to current: String, _ options: Options
  ) -> [Entry] {
    guard let last = versions.firstIndex(where: { $0.name == current }) else { return [] }
    let inferred = known.inferredSteps(versions)
    var entries: [Entry] = []
    var hasPath = true
    for position in (0..<last).reversed() {
      let version = versions[position]
      // A step to a neighbor with a path is one; searching for the best of all would take long.
      let isNear =
        version.hashes == versions[position + 1].hashes || inferred.mapping(from: position, to: position + 1) != nil
      if hasPath, isNear { continue }
      do {
        _ = try MigrationPath(known: known, from: version.name, to: current, mappings: options.mappings)
        hasPath = true
      } catch {
        hasPath = false
        let reason = (error as NSError).localizedFailureReason ?? error.localizedDescription
        entries.append(Entry(version.name, finding(.noPath, .error, "no path leads to \(current): \(reason)")))
      }
    }
    return entries
  }

  /// Mapping models that fit no two versions.
  private static func stale(_ urls: [URL], _ versions: [ModelVersion]) throws -> [Entry] {
    try MappingFile.files(at: urls).compactMap { file in
      guard let url = file.url else { return nil }
      let mapping = file.document
      let isCompiled = url.pathExtension == "cdm"
      // A source that names its versions gets their hashes when it is compiled.
      let isNamed = !isCompiled && mapping.sourceVersionName != nil && mapping.destinationVersionName != nil
      let kinds: Set<MappingCheck.Problem.Kind> = isNamed ? [.missingEntity] : [.missingEntity, .staleHash]
      func problem(_ source: ModelVersion, _ destination: ModelVersion) -> MappingCheck.Problem? {
        if isNamed, (mapping.sourceVersionName, mapping.destinationVersionName) != (source.name, destination.name) {
          return .init(
            kind: .staleHash, level: .warning, mapping: nil, property: nil,
            message: "It is for \(mapping.sourceVersionName ?? "") and \(mapping.destinationVersionName ?? "").")
        }
        return MappingCheck(mapping, source: source.document, destination: destination.document, isCompiled: isCompiled)
          .problems.first { kinds.contains($0.kind) }
      }
      var nearest: (new: ModelVersion, problem: MappingCheck.Problem)?
      for source in versions {
        for destination in versions where destination.name != source.name {
          guard let found = problem(source, destination) else { return nil }
          let isNamed = mapping.sourceVersionName == source.name && mapping.destinationVersionName == destination.name
          if nearest == nil || isNamed { nearest = (destination, found) }
        }
      }
      return nearest.map { new, problem in
        Entry(new.name, finding(.staleMapping, problem.level, "\(url.lastPathComponent): \(problem.message)"))
      }
    }
  }

  static func finding(
    _ code: FindingCode, _ level: Finding.Level, entity: String? = nil, property: String? = nil, _ message: String
  ) -> Finding {
    Finding(code, level, entity: entity, property: property, sourceEntity: nil, sourceProperty: nil, message)
  }
}

extension Finding {
  /// The finding about a step that users have taken already.
  var shipped: Finding {
    guard level > .information else { return self }
    var finding = self
    finding.level = .information
    finding.isFailure = false
    finding.message += "; both versions are locked"
    return finding
  }
}
