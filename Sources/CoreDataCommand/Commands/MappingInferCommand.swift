// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataMigration
import CoreDataModelFiles
import CoreDataTerminal

/// `coredata mapping infer`
enum MappingInferCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "infer"], summary: "Infer a mapping model, or show why none can be inferred.",
    discussion:
      "No store is opened. If --output names a .cdm, .xcmappingmodel or .mapping, the mapping model is written to that "
      + "file; an existing file is never replaced. Exits with status 5 if no mapping can be inferred, and names the "
      + "entities and properties that prevent it, why, and what to do.",
    positionals: [.olderModel, .newerModel],
    options: [.format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let old = try invocation.version("A").version
    let new = try invocation.version("B").version
    var inferred: MappingDocument?
    var obstacles: [InferenceObstacle] = []
    do {
      // Called first because the public function's error can name only one obstacle.
      _ = try InferredMapping(source: old.document, destination: new.document)
      let model = try NSMappingModel.inferredMappingModel(
        forSourceModel: NSManagedObjectModel(document: old.document),
        destinationModel: NSManagedObjectModel(document: new.document))
      inferred = model.document
    } catch let failure as InferenceFailure {
      obstacles = failure.obstacles
    }
    let mapping = inferred.map { MappingDescription($0) }
    if let inferred, NewFile.isMapping(invocation.options.output) {
      let file = try NewFile(invocation, "mapping model", extensions: "cdm", "xcmappingmodel", "mapping")
      var document = inferred
      (document.sourceVersionName, document.destinationVersionName) = (old.name, new.name)
      try document.write(to: file.url, source: old, destination: new)
      invocation.result.workDone = "\(file.url.lastPathComponent) was written."
    }
    if invocation.options.format == .json {
      try invocation.write(.object(members(from: old.name, to: new.name, mapping, obstacles)))
    } else {
      var report = invocation.report()
      if let mapping {
        report.line("\(old.name) -> \(new.name)   inferred, \(MappingText.count(mapping))")
        MappingText.write(mapping, to: &report)
      } else {
        let count = NumberText.counted(obstacles.count, "obstacle")
        report.line("\(old.name) -> \(new.name)   cannot be inferred, \(count)")
        for obstacle in obstacles {
          report.line()
          let place = [obstacle.entity, obstacle.property].compactMap { $0 }.joined(separator: ".")
          report.section(place.isEmpty ? "(model)" : place) { report in
            report.line(obstacle.reason)
            report.line(obstacle.advice)
          }
        }
      }
      try invocation.write(report)
    }
    return mapping == nil ? .migrationImpossible : .done
  }

  private static func members(
    from: String, to: String, _ mapping: MappingDescription?, _ obstacles: [InferenceObstacle]
  ) -> [JSONText.Member] {
    [
      .init("format", "coredata.mapping-infer/1"), .init("from", .string(from)), .init("to", .string(to)),
      .init("isInferable", .bool(mapping != nil)),
      .init(
        "entityMappings",
        mapping.flatMap { MappingText.members(of: $0).first { $0.key == "entityMappings" }?.value } ?? .array([])),
      .init(
        "obstacles",
        .array(
          obstacles.map {
            [
              "entity": .optional($0.entity), "property": .optional($0.property), "reason": .string($0.reason),
              "advice": .string($0.advice),
            ]
          })),
    ]
  }
}

/// `coredata mapping new`
enum MappingNewCommand: Command {
  static let specification = CommandSpecification(
    ["mapping", "new"], summary: "Create a mapping model to edit, between two versions.",
    discussion:
      "Does what Xcode's \"New Mapping Model\" does, and also follows renaming identifiers: creates a mapping for "
      + "every entity of B with all its properties. Entities only in A get no mapping. Notes name the properties of A that no "
      + "expression reads: edit the mapping model before it is used. An .xcmappingmodel is for Xcode, a .mapping for any text "
      + "editor. An existing file is never replaced.",
    positionals: [.olderModel, .newerModel],
    options: [NewFile.option("X.xcmappingmodel"), .format(.text, .json)])

  static func run(_ invocation: CommandInvocation) throws -> ExitStatus {
    let file = try NewFile(invocation, "mapping model", extensions: "xcmappingmodel", "mapping", "cdm")
    let old = try invocation.version("A").version
    let new = try invocation.version("B").version
    var mapping = MappingDocument.drawn(from: old.document, to: new.document)
    (mapping.sourceVersionName, mapping.destinationVersionName) = (old.name, new.name)
    try mapping.write(to: file.url, source: old, destination: new)
    for item in mapping.unreadProperties(from: old.document, to: new.document) {
      let open = item.openWords.map { "; \($0)" } ?? ""
      invocation.remark("No expression reads \(item.entity).\(item.property), whose values would be dropped\(open).")
    }
    try MappingText.writeMade(mapping, "coredata.mapping-new/1", file, invocation)
    return .done
  }
}
