// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMigration
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

/// The mapping of one version of a model to another.
open class NSMappingModel: NSObject {
  private var mappings: [NSEntityMapping] = []

  /// The inferred mapping that this model was created from; nil if it was not inferred.
  internal var inferred: InferredMapping?

  /// Creates an empty mapping model.
  public override init() {
    super.init()
  }

  /// The entity mappings, in processing order. Setting nil empties the list.
  open var entityMappings: [NSEntityMapping]! {
    get { mappings }
    set {
      mappings = newValue ?? []
      inferred = nil
    }
  }

  /// The entity mappings by name.
  open var entityMappingsByName: [String: NSEntityMapping] {
    Dictionary(mappings.map { ($0.name ?? "", $0) }) { first, _ in first }
  }

  open override var description: String {
    "(\(type(of: self)) {\(mappings.map { $0.name ?? "" }.joined(separator: ", "))})"
  }

  /// Returns whether another object is a mapping model of the same class with equal entity mappings.
  open override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? NSMappingModel, type(of: self) == type(of: other) else { return false }
    return self === other || mappings == other.mappings
  }

  open override var hash: Int { mappings.count }
}

extension NSMappingModel {
  internal convenience init(document: MappingDocument) {
    self.init()
    entityMappings = document.entityMappings.map(NSEntityMapping.init)
  }

  /// The mapping model as a document, which can be written to a file.
  package var document: MappingDocument {
    MappingDocument(entityMappings: entityMappings.map(\.document))
  }

  /// Infers the mapping from one version of a model to another. Renaming identifiers connect renamed entities and
  /// properties.
  ///
  /// This is also the dry run of an inferred migration, since it touches no store. The mappings are named
  /// `IEM_Add_<destination>`, `IEM_Copy_<source>`, `IEM_Transform_<source>` and `IEM_Remove_<source>`. They are sorted
  /// by destination; removals come last. An optional relationship with a different destination entity loses its
  /// objects; models of published apps show that Apple's inference accepts this.
  ///
  /// - Throws: 134190 with `reason`, `entity` and `property` if something cannot be inferred: attribute types that do
  ///   not convert, a new required attribute without a default value, a new required relationship, a to-many
  ///   relationship that becomes to-one, a required relationship with a different destination entity, merged
  ///   hierarchies, ambiguous renaming identifiers.
  public class func inferredMappingModel(
    forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
  ) throws -> NSMappingModel {
    let source = ModelSide(sourceModel.document, hashes: sourceModel.entityVersionHashesByName)
    let destination = ModelSide(destinationModel.document, hashes: destinationModel.entityVersionHashesByName)
    do {
      let inferred = try MappingInference(source: source, destination: destination).run()
      return NSMappingModel(inferred, from: source, to: destination)
    } catch let failure as InferenceFailure {
      throw MigrationErrors.cannotInfer(failure.obstacles)
    }
  }

  convenience init(_ inferred: InferredMapping, from source: ModelSide, to destination: ModelSide) {
    self.init()
    entityMappings = InferredEntityMappings(source: source, destination: destination).mappings(of: inferred)
    self.inferred = inferred
  }

  /// Reads a mapping model: a `.cdm`, or an `.xcmappingmodel`. Nil on any failure; `load(contentsOf:)` throws the
  /// reason.
  public convenience init?(contentsOf url: URL?) {
    guard let url else { return nil }
    do {
      let document = try Self.document(at: url)
      try Self.requireModels(document, url)
      self.init(document: document)
    } catch {
      return nil
    }
  }

  /// Reads a mapping model, and throws the reason for a failure. An addition to Apple's API.
  ///
  /// An `.xcmappingmodel` is compiled: properties without an expression get the expression that Xcode's compiler would
  /// write.
  ///
  /// - Parameters:
  ///   - url: a `.cdm`, an `.xcmappingmodel`, or a text file (`.mapping`), which needs both models.
  ///   - sourceModel: the source version. If given, entity mappings get the hashes of its entities, and default
  ///     expressions follow its properties, because the file's own copy of that version may be stale.
  ///   - destinationModel: the destination version, likewise.
  /// - Throws: 260 for a missing file, 259 for a file that is not a mapping model, `NSCoreDataError` for one with an
  ///   expression that cannot be read.
  public static func load(
    contentsOf url: URL, forSourceModel sourceModel: NSManagedObjectModel? = nil,
    destinationModel: NSManagedObjectModel? = nil
  ) throws -> NSMappingModel {
    let document = try document(at: url, source: sourceModel?.document, destination: destinationModel?.document)
    try requireModels(document, url)
    return NSMappingModel(document: document)
  }

  /// Throws for a mapping model without copies of its versions, so that properties and hashes are unknown.
  private static func requireModels(_ document: MappingDocument, _ url: URL) throws {
    guard document.lacksModels else { return }
    throw MigrationErrors.cannotReadMapping(
      ModelFileError(
        .missingContents, found: "The mapping model contains no copies of its versions.",
        advice: "Give the source and the destination model.", file: url))
  }

  /// Writes the mapping model atomically. The file's extension determines the format: compiled (`.cdm`), a source for
  /// Xcode (`.xcmappingmodel`), or text that people can review and merge (`.mapping`). An addition to Apple's API.
  ///
  /// - Parameters:
  ///   - url: the location of the file; an existing file is replaced.
  ///   - sourceModel: the source version, a copy of which is stored in an `.xcmappingmodel`.
  ///   - destinationModel: the destination version, likewise.
  /// - Throws: `NSCoreDataError` for content that the format cannot express; 259 for an `.xcmappingmodel` without
  ///   models, and for any other extension; errors of the file system.
  public func write(
    to url: URL, sourceModel: NSManagedObjectModel? = nil, destinationModel: NSManagedObjectModel? = nil
  ) throws {
    let versions = [sourceModel, destinationModel].map { model in
      model.map { (name: ModelVersions.name(of: $0), document: $0.document) }
    }
    do {
      try document.write(to: url, source: versions[0], destination: versions[1])
    } catch let error as ModelFileError {
      throw ModelErrors.cannotRead(error, "The mapping model could not be written.")
    }
  }

  /// Finds the mapping model between two versions in the bundles' resources.
  ///
  /// A mapping model matches if the hashes of all its entity mappings are those of the models. An `.xcmappingmodel` or
  /// a text (`.mapping`) also matches if it names versions, found beside it, that have the hashes of the models,
  /// because copies become stale whenever a version is edited, and a text has none. If several match, the one with the
  /// most entity mappings is used. Nil if none matches.
  ///
  /// - Parameters:
  ///   - bundles: the bundles; nil for the main bundle, or for the resource bundles beside the executable if that has
  ///     no model.
  ///   - sourceModel: the source version.
  ///   - destinationModel: the destination version.
  public convenience init?(
    from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?,
    destinationModel: NSManagedObjectModel?
  ) {
    guard let sourceModel, let destinationModel,
      let found = MappingSearch(source: sourceModel, destination: destinationModel).mapping(
        in: ModelSearch(bundles: bundles))
    else { return nil }
    self.init(document: found)
  }

  internal static func document(
    at url: URL, source: ModelDocument? = nil, destination: ModelDocument? = nil
  ) throws -> MappingDocument {
    do {
      return try MappingDocument(contentsOf: url, source: source, destination: destination)
    } catch let error as ModelFileError {
      throw MigrationErrors.cannotReadMapping(error.inFile(url))
    }
  }
}

extension NSEntityMapping {
  internal convenience init(_ document: EntityMappingDocument) {
    self.init()
    name = document.name
    mappingType = NSEntityMappingType(rawValue: document.kind.rawValue) ?? .undefinedEntityMappingType
    sourceEntityName = document.sourceEntityName
    sourceEntityVersionHash = document.sourceEntityVersionHash
    destinationEntityName = document.destinationEntityName
    destinationEntityVersionHash = document.destinationEntityVersionHash
    entityMigrationPolicyClassName = document.policyClassName
    sourceSyntax = document.sourceExpression
    attributeMappings = document.attributeMappings.map(NSPropertyMapping.init)
    relationshipMappings = document.relationshipMappings.map(NSPropertyMapping.init)
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
  }

  internal var document: EntityMappingDocument {
    var document = EntityMappingDocument(
      name: name ?? "", kind: EntityMappingKind(rawValue: mappingType.rawValue) ?? .undefined,
      sourceEntityName: sourceEntityName, destinationEntityName: destinationEntityName)
    document.sourceEntityVersionHash = sourceEntityVersionHash
    document.destinationEntityVersionHash = destinationEntityVersionHash
    document.policyClassName = entityMigrationPolicyClassName
    document.sourceExpression = sourceSyntax
    document.attributeMappings = (attributeMappings ?? []).map(\.document)
    document.relationshipMappings = (relationshipMappings ?? []).map(\.document)
    document.userInfo = PlainValue.userInfo(userInfo)
    return document
  }
}

extension NSPropertyMapping {
  internal convenience init(_ document: PropertyMappingDocument) {
    self.init()
    name = document.name
    valueSyntax = document.valueExpression
    userInfo = PlainValue.foundationUserInfo(document.userInfo)
  }

  internal var document: PropertyMappingDocument {
    PropertyMappingDocument(
      name: name ?? "", valueExpression: valueSyntax, userInfo: PlainValue.userInfo(userInfo))
  }
}

/// Creates entity mappings from an inferred mapping.
private struct InferredEntityMappings {
  let source: ModelSide
  let destination: ModelSide

  func mappings(of inferred: InferredMapping) -> [NSEntityMapping] {
    let present = inferred.matched.map(mapping) + inferred.added.map(addition)
    return present.sorted { ($0.destinationEntityName ?? "") < ($1.destinationEntityName ?? "") }
      + inferred.removed.map(removal)
  }

  private func mapping(_ match: InferredMapping.EntityMatch) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "\(match.isUnchanged ? "IEM_Copy_" : "IEM_Transform_")\(match.source)"
    mapping.mappingType = match.isUnchanged ? .copyEntityMappingType : .transformEntityMappingType
    setSource(match.source, of: mapping)
    setDestination(match.destination, of: mapping)
    mapping.sourceSyntax = Expressions.sourceObjects(entity: match.source)
    mapping.attributeMappings = propertyMappings(
      match.attributes, added: match.addedAttributes, value: Expressions.value)
    mapping.relationshipMappings = propertyMappings(
      match.relationships, added: match.addedRelationships, value: Expressions.destinationObjects)
    mapping.userInfo = [
      "mappedProperties": Set((match.attributes + match.relationships).map(\.destination)),
      "addedProperties": Set(match.addedAttributes + match.addedRelationships),
      "removedProperties": Set(match.removedAttributes + match.removedRelationships),
    ]
    return mapping
  }

  private func addition(_ name: String) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "IEM_Add_\(name)"
    mapping.mappingType = .addEntityMappingType
    setDestination(name, of: mapping)
    mapping.attributeMappings = propertyMappings(
      [], added: destination.attributes(of: name).map(\.name), value: Expressions.value)
    mapping.relationshipMappings = propertyMappings(
      [], added: destination.relationships(of: name).map(\.name), value: Expressions.value)
    return mapping
  }

  private func removal(_ name: String) -> NSEntityMapping {
    let mapping = NSEntityMapping()
    mapping.name = "IEM_Remove_\(name)"
    mapping.mappingType = .removeEntityMappingType
    setSource(name, of: mapping)
    return mapping
  }

  private func setSource(_ name: String, of mapping: NSEntityMapping) {
    mapping.sourceEntityName = name
    mapping.sourceEntityVersionHash = source.hashes[name]
  }

  private func setDestination(_ name: String, of mapping: NSEntityMapping) {
    mapping.destinationEntityName = name
    mapping.destinationEntityVersionHash = destination.hashes[name]
  }

  private func propertyMappings(
    _ matches: [InferredMapping.PropertyMatch], added: [String], value: (String) -> ExpressionSyntax
  ) -> [NSPropertyMapping] {
    let mapped = matches.map { (name: $0.destination, syntax: Optional(value($0.source))) }
    let all = mapped + added.map { (name: $0, syntax: nil) }
    return all.sorted { $0.name < $1.name }.map { item in
      let mapping = NSPropertyMapping()
      mapping.name = item.name
      mapping.valueSyntax = item.syntax
      return mapping
    }
  }
}

/// The expressions that Apple's inference has been observed to write.
private enum Expressions {
  /// `FUNCTION($source, "valueForKey:", "name")`
  static func value(_ property: String) -> ExpressionSyntax {
    .function(operand: .variable("source"), name: "valueForKey:", arguments: [.constant(.string(property))])
  }

  /// `FUNCTION($manager, "destinationInstancesForSourceRelationshipNamed:sourceInstances:", "name", value)`
  static func destinationObjects(_ relationship: String) -> ExpressionSyntax {
    .function(
      operand: .variable("manager"), name: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
      arguments: [.constant(.string(relationship)), value(relationship)])
  }

  /// `FETCH(FUNCTION($manager, "fetchRequestForSourceEntityNamed:predicateString:", "Name", "TRUEPREDICATE"),
  /// $manager.sourceContext, NO)`
  static func sourceObjects(entity: String) -> ExpressionSyntax {
    let request = ExpressionSyntax.function(
      operand: .variable("manager"), name: "fetchRequestForSourceEntityNamed:predicateString:",
      arguments: [.constant(.string(entity)), .constant(.string("TRUEPREDICATE"))])
    return .fetch(request: request, context: .keyPathOf(.variable("manager"), "sourceContext"), countOnly: false)
  }
}

/// The locations where a migration searches for mapping models.
struct MappingLocations {
  /// Files and directories of mapping models.
  var urls: [URL] = []
  /// Mapping models created in code.
  var models: [NSMappingModel] = []

  static var none: MappingLocations { MappingLocations() }

  /// Returns the resources of the program.
  ///
  /// - Throws: the error of `FileManager` for a directory that exists and cannot be listed.
  static func program() throws -> MappingLocations { MappingLocations(urls: try ModelSearch.program.mappingModels()) }

  /// Reads the mapping models.
  ///
  /// - Parameter requiresSome: whether a directory without mapping models is an error.
  /// - Throws: 260 for a missing file, 259 for a file without a mapping model. An unreadable mapping model may be the
  ///   one that is needed, so it is never skipped silently.
  func mappings(requiresSome: Bool = false) throws -> [MappingFile] {
    let files = try urls.flatMap { url -> [URL] in
      var isFolder: ObjCBool = false
      let exists = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
      let isMapping = ModelSearch.mappingModelKinds.contains(url.pathExtension)
      guard exists, isFolder.boolValue, !isMapping else { return [url] }
      let found = try ModelSearch.mappingModels(below: url)
      guard !found.isEmpty || !requiresSome else { throw Self.noMappingModel(in: url) }
      return found
    }
    return models.map(MappingFile.init) + (try files.map(MappingFile.init(contentsOf:)))
  }

  private static func noMappingModel(in folder: URL) -> NSError {
    MigrationErrors.cannotReadMapping(
      ModelFileError(
        .missingContents,
        found: "Neither the directory nor one below it contains a mapping model "
          + "(.\(ModelSearch.mappingModelKinds.joined(separator: ", ."))).",
        advice: "Name a mapping model, or the directory that contains it.", file: folder))
  }
}

extension MappingFile {
  /// Reads mapping models, including those in directories and their subdirectories.
  ///
  /// - Parameter requiresSome: whether a directory without mapping models is an error.
  /// - Throws: 260 for a missing file; 259 for a file without a mapping model, and for a directory without any if that
  ///   is an error.
  package static func files(at urls: [URL], requiresSome: Bool = false) throws -> [MappingFile] {
    try MappingLocations(urls: urls).mappings(requiresSome: requiresSome)
  }

  /// Reads a file.
  ///
  /// - Throws: as `NSMappingModel.load(contentsOf:forSourceModel:destinationModel:)`.
  init(contentsOf url: URL) throws {
    self.init(url: url, document: try NSMappingModel.document(at: url))
  }

  /// Wraps a mapping model created in code.
  init(_ model: NSMappingModel) {
    self.init(url: nil, document: model.document, object: model)
  }

  /// Returns the mapping model for two versions. A source file that names them is compiled with their hashes and
  /// properties.
  ///
  /// - Throws: as `init(contentsOf:)`.
  func mappingModel(source: NSManagedObjectModel, destination: NSManagedObjectModel) throws -> NSMappingModel {
    if let made = object as? NSMappingModel { return made }
    let fits = Self.mismatches(
      of: document, source: source.entityVersionHashesByName, destination: destination.entityVersionHashesByName
    ).isEmpty
    guard let url, !fits else { return NSMappingModel(document: document) }
    return try NSMappingModel.load(contentsOf: url, forSourceModel: source, destinationModel: destination)
  }
}

/// Finds the mapping model between two versions in the resources of a program.
internal struct MappingSearch {
  private let source: NSManagedObjectModel
  private let destination: NSManagedObjectModel
  private let sourceHashes: [String: Data]
  private let destinationHashes: [String: Data]

  internal init(source: NSManagedObjectModel, destination: NSManagedObjectModel) {
    self.source = source
    self.destination = destination
    sourceHashes = source.entityVersionHashesByName
    destinationHashes = destination.entityVersionHashesByName
  }

  /// Returns the matching mapping model with the most entity mappings; among equals, the first one found.
  internal func mapping(in search: ModelSearch) -> MappingDocument? {
    // A directory that cannot be listed contributes nothing.
    let files = (try? search.mappingModels()) ?? []
    var best: MappingDocument?
    for file in files {
      guard let found = mapping(at: file, in: search),
        found.entityMappings.count > best?.entityMappings.count ?? 0
      else { continue }
      best = found
    }
    return best
  }

  private func mapping(at file: URL, in search: ModelSearch) -> MappingDocument? {
    // An unreadable mapping model is not the requested one.
    guard let document = try? MappingDocument(contentsOf: file) else { return nil }
    if fits(document) { return document }
    guard let sourceName = document.sourceVersionName, let destinationName = document.destinationVersionName,
      hasVersion(sourceName, sourceHashes, in: search), hasVersion(destinationName, destinationHashes, in: search),
      // As above.
      let fresh = try? MappingDocument(
        contentsOf: file, source: source.document, destination: destination.document),
      fits(fresh)
    else { return nil }
    return fresh
  }

  private func fits(_ document: MappingDocument) -> Bool {
    MappingFile.mismatches(of: document, source: sourceHashes, destination: destinationHashes).isEmpty
  }

  private func hasVersion(_ name: String, _ hashes: [String: Data], in search: ModelSearch) -> Bool {
    // As above. Unreadable models have no version with that name.
    ((try? search.models()) ?? []).contains { url in
      ((try? ModelBundle(contentsOf: url))?.versions ?? []).contains {
        $0.name == name && VersionHashes($0.document).entities == hashes
      }
    }
  }
}
