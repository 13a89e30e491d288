// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// Findings about a model, its versions and the steps between them, without a store.
public struct ModelLint {
  /// A finding, with the version that it is about.
  public struct Entry: Hashable, Sendable {
    /// The version; for a step, the newer one.
    public let version: String
    /// The older version of a step; nil for a finding about one version.
    public let source: String?
    /// The finding.
    public internal(set) var finding: Finding

    init(_ version: String, from source: String? = nil, _ finding: Finding) {
      self.version = version
      self.source = source
      self.finding = finding
    }
  }

  /// The scope of a check, and the levels of its findings.
  public struct Options: Sendable {
    /// Whether all steps are checked, not only the one that ends at the current version.
    public var includesAllSteps = false
    /// Mapping models, or directories of them.
    public var mappings: [URL] = []
    /// The versions that have been shipped.
    public var lock: VersionLock?
    /// The stages of the app's staged migration, whose order is checked (VR406); nil to check none.
    public var stages: [NSMigrationStage]?
    /// Levels that replace those of codes; `.some(nil)` omits the findings.
    public var levels: [FindingCode: Finding.Level?] = [:]
    /// Findings that are allowed.
    public var allowances: FindingAllowances = []

    /// Creates default options.
    public init() {}
  }

  /// The name of the current version.
  public let current: String
  /// The number of steps that were checked.
  public let stepCount: Int
  /// The findings, worst first, then by version, code and place.
  public private(set) var entries: [Entry] = []

  /// Returns the number of findings of a level.
  public func count(of level: Finding.Level) -> Int { entries.count { $0.finding.level == level } }

  /// Checks a model.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.momd`, or a single version.
  ///   - options: the scope of the check, and the levels of its findings.
  /// - Throws: the errors of reading models; 134060 if there is no current version.
  public init(modelsAt url: URL, options: Options = Options()) throws {
    try self.init(ModelVersions(contentsOf: url), options)
  }

  /// Checks versions that have been read.
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

  /// Returns the entry with its level from the options; nil if they omit it.
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

  /// Returns the findings of a step, with a mapping model if there is one.
  private static func findings(
    from old: ModelVersion, to new: ModelVersion, _ known: ModelVersions, _ mappings: [URL]
  ) -> [Finding] {
    // Problems of the mapping models are reported with the path.
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

  /// Returns findings about versions that Core Data cannot distinguish.
  ///
  /// - Parameter name: the only version that is compared with earlier ones; nil for all.
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

  /// Returns findings about versions without a migration path to the current one.
  private static func pathless(
    _ known: ModelVersions, _ versions: [ModelVersion], to current: String, _ options: Options
  ) -> [Entry] {
    guard let last = versions.firstIndex(where: { $0.name == current }) else { return [] }
    let inferred = known.inferredSteps(versions)
    var entries: [Entry] = []
    var hasPath = true
    for position in (0..<last).reversed() {
      let version = versions[position]
      // A step to a neighbor that has a path is sufficient; searching for the best path of every version would take too
      // long.
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

  /// Returns findings about mapping models that match no two versions.
  private static func stale(_ urls: [URL], _ versions: [ModelVersion]) throws -> [Entry] {
    let files = try MappingFile.files(at: urls)
    guard !files.isEmpty, versions.count > 1 else { return [] }
    let mapped = versions.map { (name: $0.name, version: MappedVersion($0.document)) }
    return files.compactMap { file in
      guard let url = file.url else { return nil }
      let mapping = file.document
      func entry(_ version: ModelVersion, _ level: Finding.Level, _ message: String) -> Entry {
        Entry(version.name, finding(.staleMapping, level, "\(url.lastPathComponent): \(message)"))
      }
      let isCompiled = url.pathExtension == "cdm"
      let named = (
        versions.first { $0.name == mapping.sourceVersionName },
        versions.first { $0.name == mapping.destinationVersionName }
      )
      var pair = (versions[0], versions[1])
      if case (let source?, let destination?) = named, source.name != destination.name { pair = (source, destination) }
      // A source with version names gets their hashes when it is compiled.
      var kinds: Set<MappingCheck.Problem.Kind> = [.missingEntity]
      if !isCompiled, let source = mapping.sourceVersionName, let destination = mapping.destinationVersionName {
        guard (source, destination) == (pair.0.name, pair.1.name) else {
          return entry(pair.1, .warning, "It is for \(source) and \(destination).")
        }
      } else {
        let sources = mapped.filter { version in
          mapping.entityMappings.allSatisfy { version.version.has($0.sourceEntityName, $0.sourceEntityVersionHash) }
        }
        let destinations = mapped.filter { version in
          mapping.entityMappings.allSatisfy {
            version.version.has($0.destinationEntityName, $0.destinationEntityVersionHash)
          }
        }
        if sources.contains(where: { source in destinations.contains { $0.name != source.name } }) { return nil }
        kinds.insert(.staleHash)
      }
      let check = MappingCheck(
        mapping, source: pair.0.document, destination: pair.1.document, isCompiled: isCompiled)
      return check.problems.first { kinds.contains($0.kind) }.map { entry(pair.1, $0.level, $0.message) }
    }
  }

  static func finding(
    _ code: FindingCode, _ level: Finding.Level, entity: String? = nil, property: String? = nil, _ message: String
  ) -> Finding {
    Finding(code, level, entity: entity, property: property, sourceEntity: nil, sourceProperty: nil, message)
  }
}

extension Finding {
  /// The finding about a step that users have already run.
  var shipped: Finding {
    guard level > .information else { return self }
    var finding = self
    finding.level = .information
    finding.isFailure = false
    finding.message += "; both versions are locked"
    return finding
  }
}
