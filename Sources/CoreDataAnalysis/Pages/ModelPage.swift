// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMigration
import CoreDataModelFiles
import Foundation

/// A page about a model: its versions with the steps between them, and the entities of each version as a picture and as
/// tables, with the changes since the previous version.
public struct ModelPage {
  private let name: String
  private let known: ModelVersions
  private let graph: ModelGraph

  /// Creates a page about the model at a URL.
  ///
  /// - Parameters:
  ///   - url: an `.xcdatamodeld`, `.momd`, or a single version.
  ///   - mappings: mapping models, or directories of them.
  /// - Throws: the errors of reading models and mapping models.
  public init(modelsAt url: URL, mappings: [URL] = []) throws {
    try self.init(
      name: url.deletingPathExtension().lastPathComponent, versions: ModelVersions(contentsOf: url), mappings: mappings)
  }

  package init(name: String, versions: ModelVersions, mappings: [URL]) throws {
    (self.name, known) = (name, versions)
    graph = try ModelGraph(versions: versions, mappings: mappings)
  }

  /// The contents of the page, a single file that loads nothing else.
  public var html: String {
    var page = HTMLPage(title: name)
    let versions = known.versions
    page.heading(1, name)
    let current = known.currentName.map { ", the current one is \($0)" } ?? ""
    page.paragraph("\(versions.count) \(versions.count == 1 ? "version" : "versions")\(current).", style: "dim")
    page.searchField("Find entities, properties and changes")
    let steps = zip(versions, versions.dropFirst()).map { old, new in
      let difference = ModelDifference(from: old.document, to: new.document)
      return (difference: difference, findings: Self.findings(difference, from: old, to: new))
    }
    page.heading(2, "Versions")
    page.table(
      ["Version", .init("Entities", isNumber: true), "Step from the version before", "Findings", "Checksum"],
      versions.enumerated().map { position, version in
        let step = position == 0 ? nil : steps[position - 1]
        let isCurrent = version.name == known.currentName
        return [
          .init(version.name + (isCurrent ? " (current)" : ""), link: "version-\(position)"),
          .init("\(version.document.entities.count)", isNumber: true), way(to: position, step?.difference),
          Self.cell(of: step?.findings ?? []), .init(version.versionHashes.checksum, style: "code"),
        ]
      })
    if versions.count > 1 { page.fold("The versions as a picture") { $0.picture(graph.svg(.init(), isAlone: false)) } }
    for (position, version) in versions.enumerated().reversed() {
      let step = position == 0 ? nil : steps[position - 1]
      write(version, position, step?.difference, step?.findings ?? [], to: &page)
    }
    return page.html
  }

  /// Returns a cell with the kind of migration from the previous version, and its cost.
  private func way(to position: Int, _ difference: ModelDifference?) -> HTMLPage.Cell {
    guard let difference else { return .init("the first version", style: "dim") }
    if let mapping = graph.edges.first(where: {
      $0.kind == .mapping && $0.source == position - 1 && $0.destination == position
    }) {
      return .init("by \(mapping.label): every row is copied")
    }
    let count = "\(difference.changes.count) \(difference.changes.count == 1 ? "change" : "changes")"
    switch difference.migration {
    case .none: return .init("\(count), stores open as they are", style: "good")
    case .inferred: return .init("\(count), inferred: in place, in one transaction", style: "good")
    case .custom: return .init("\(count), cannot be inferred: needs a mapping model or a custom stage", style: "bad")
    }
  }

  private static func findings(
    _ difference: ModelDifference, from old: ModelVersion, to new: ModelVersion
  ) -> [Finding] {
    MigrationFindings(difference, from: old.document, to: new.document).findings.sorted(by: Finding.areInOrder)
  }

  private static func cell(of findings: [Finding]) -> HTMLPage.Cell {
    let codes = Dictionary(grouping: findings) { $0.code.rawValue }.sorted { $0.key < $1.key }
    let text = codes.map { $0.value.count > 1 ? "\($0.key) (\($0.value.count))" : $0.key }.joined(separator: ", ")
    let isBad = findings.contains { $0.level == .error }
    return .init(text, style: isBad ? "bad" : findings.isEmpty ? nil : "warn")
  }

  private func write(
    _ version: ModelVersion, _ position: Int, _ difference: ModelDifference?, _ findings: [Finding],
    to page: inout HTMLPage
  ) {
    let isCurrent = version.name == known.currentName
    page.fold(
      version.name + (isCurrent ? " (current)" : ""), id: "version-\(position)", isOpen: isCurrent, isSearched: true
    ) { page in
      let graph = ModelGraph(entitiesOf: version.document)
      page.picture(graph.svg(Self.highlights(difference, in: graph, version.document), isAlone: false))
      if let difference, !difference.isEmpty {
        page.heading(3, "Changes since \(known.versions[position - 1].name)")
        page.table(
          ["Entity", "Change"],
          difference.changes.map { change in
            let style =
              change.migration == .custom
              ? "bad" : change.word == "added" ? "good" : change.word == "removed" ? "bad" : "warn"
            return [.init(change.entity ?? ""), .init(change.sentence, style: style)]
          }, isSearched: true)
      }
      if !findings.isEmpty {
        page.heading(3, "Findings about the step")
        page.table(
          ["Code", "Place", "Finding"],
          findings.map {
            [
              .init($0.code.rawValue, style: $0.level == .error ? "bad" : $0.level == .warning ? "warn" : "dim"),
              .init($0.place), .init($0.message),
            ]
          }, isSearched: true)
      }
      page.heading(3, "Entities")
      for entity in ModelDescription(version.document).entities { Self.write(entity, to: &page) }
    }
  }

  private static func write(_ entity: ModelDescription.Entity, to page: inout HTMLPage) {
    let remarks = entity.remarks.isEmpty ? "" : ": \(entity.remarks.joined(separator: ", "))"
    page.fold(entity.name + remarks, isSearched: true) { page in
      page.table(
        ["Property", "Kind", "Description"],
        entity.properties.map { [.init($0.name), .init($0.kind, style: "dim"), .init($0.text)] }, isSearched: true)
    }
  }

  /// Returns the highlights for new and changed parts in the picture of a version's entities.
  private static func highlights(
    _ difference: ModelDifference?, in graph: ModelGraph, _ document: ModelDocument
  ) -> GraphHighlights {
    var highlights = GraphHighlights()
    let positions = Dictionary(graph.nodes.enumerated().map { ($1.title, $0) }) { first, _ in first }
    let entities = EntityIndex(document)
    for change in difference?.changes ?? [] where change.kind != .removed {
      guard let name = change.entity, let position = positions[name], let entity = entities[name] else { continue }
      let isNew = if case .added = change.kind { true } else { false }
      guard let property = change.property else {
        highlights.nodes[position] = isNew ? .added : .changed
        continue
      }
      if highlights.nodes[position] == nil { highlights.nodes[position] = .changed }
      // The lines of a box are the entity's attributes, sorted by name.
      let names = entity.attributes.map(\.name).sorted()
      if let line = names.firstIndex(of: property) {
        highlights.lines[position, default: [:]][line] = isNew ? .added : .changed
      }
    }
    return highlights
  }
}
