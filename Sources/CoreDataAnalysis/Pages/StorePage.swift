// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataSQLite
import Foundation

/// A page about a store: its entities with their rows and sizes, sample objects, and its problems.
package struct StorePage {
  private let reader: StoreReader
  private let version: String?
  private let verdict: StoreVerdict
  private let rows: [String: Int]
  /// The size of each table with its indexes, in bytes; empty if SQLite was built without dbstat.
  private let sizes: [String: Int]
  private var samples: [String: [ExportedObject]] = [:]
  /// The command that shows all objects in a browser.
  private let browsing: String

  /// Reads a store.
  ///
  /// - Parameters:
  ///   - version: the name of the version that wrote it, if known.
  ///   - sampleCount: the number of objects shown for each entity; 0 for a page without users' data.
  ///   - browsing: the command that shows all objects.
  /// - Throws: `StoreProblem`.
  package init(_ reader: StoreReader, version: String?, sampleCount: Int, browsing: String) throws {
    (self.reader, self.version, self.browsing) = (reader, version, browsing)
    verdict = try StoreVerifier(reader, limit: 5).run()
    rows = verdict.rows
    sizes = Self.sizes(reader)
    guard sampleCount > 0, !verdict.defects.contains(where: { $0.kind == .pages }) else { return }
    let references = ObjectReferences(reader: reader) { _ in }
    for entity in reader.entities where rows[entity.name] ?? 0 > 0 {
      guard let cursor = try ObjectCursor(of: entity, references: references, limit: sampleCount) else { continue }
      while let object = try cursor.next() { samples[entity.name, default: []].append(object) }
    }
  }

  /// Returns the size of each table with its indexes, in bytes, if SQLite was built with dbstat.
  private static func sizes(_ reader: StoreReader) -> [String: Int] {
    // A page without sizes is better than none.
    guard let found = try? reader.connection.rows("SELECT name, SUM(pgsize) FROM dbstat GROUP BY name") else {
      return [:]
    }
    var sizes: [String: Int] = [:]
    for row in found {
      guard let name = row[0].text, let size = row[1].integer else { continue }
      sizes[reader.catalog.index(named: name)?.table ?? name, default: 0] += Int(size)
    }
    return sizes
  }

  /// The contents of the page, a single file that loads nothing else.
  package var html: String {
    let name = reader.url.lastPathComponent
    var page = HTMLPage(title: name)
    page.heading(1, name)
    page.paragraph(verdict.conclusion, style: verdict.problems.isEmpty ? "good" : "bad")
    page.table(["Fact", "Value"], facts.map { [.init($0.0, style: "dim"), .init($0.1)] })
    page.searchField("Find on this page", note: searchNote)
    writeProblems(to: &page)
    page.heading(2, "Entities")
    page.table(
      ["Entity", .init("Rows", isNumber: true), "Table", .init("Bytes of the table", isNumber: true), "Version hash"],
      reader.entities.filter { !$0.isAbstract }.map { entity in
        [
          .init(entity.name, link: samples[entity.name] == nil ? nil : "entity-\(entity.number)"),
          .init(rows[entity.name].map { "\($0)" } ?? "unknown", isNumber: true), .init(entity.table ?? "missing"),
          .init(entity.table.flatMap { sizes[$0] }.map { "\($0)" } ?? "", isNumber: true),
          .init(reader.metadata.hashes[entity.name].map { $0.base64EncodedString() } ?? "unknown", style: "code"),
        ]
      }, isSearched: true)
    if let model = reader.model {
      page.fold("The entities as a picture") {
        $0.picture(ModelGraph(entitiesOf: model).svg(.init(), isAlone: false))
      }
    }
    writeSamples(to: &page)
    return page.html
  }

  /// What the search of the page covers.
  private var searchNote: String {
    let shown = samples.values.reduce(0) { $0 + $1.count }
    let total = rows.values.reduce(0, +)
    guard shown < total else { return "The search covers this page, which shows all objects of the store." }
    let objects = shown == 0 ? "none of the \(total) objects" : "\(shown) of the \(total) objects"
    return "The search covers this page, which shows \(objects). To search all of them: \(browsing)"
  }

  private var facts: [(String, String)] {
    let metadata = reader.metadata
    var facts = [
      ("Type", metadata.type), ("Identifier", metadata.uuid), ("Checksum", metadata.checksum),
      ("Rows", "\(rows.values.reduce(0, +))"), ("Bytes", "\(reader.file.sizes.store)"),
    ]
    if reader.file.sizes.log > 0 { facts.append(("Bytes of the write-ahead log", "\(reader.file.sizes.log)")) }
    if verdict.fileCount > 0 { facts.append(("Values in files", "\(verdict.fileCount)")) }
    if let version { facts.insert(("Version", version), at: 2) }
    if let framework = metadata.frameworkVersion { facts.append(("Framework", "\(framework)")) }
    if !metadata.applicationKeys.isEmpty {
      facts.append(("Keys of the app", metadata.applicationKeys.joined(separator: ", ")))
    }
    return facts
  }

  private func writeProblems(to page: inout HTMLPage) {
    page.heading(2, "Problems")
    for text in reader.remarks + verdict.gaps { page.paragraph(text, style: "warn") }
    guard !verdict.defects.isEmpty else {
      page.paragraph("Every rule that was checked is satisfied.")
      return
    }
    page.table(
      ["Kind", "Place", .init("Count", isNumber: true), "What was found", "What to do"],
      verdict.defects.map { defect in
        [
          .init(defect.kind.rawValue, style: defect.kind.isRemark ? "dim" : "bad"), .init(defect.place),
          .init("\(defect.count)", isNumber: true), .init(defect.examples.map(\.text).joined(separator: " ")),
          .init(defect.isRepairable ? "Can be repaired: \(defect.cure)" : defect.cure),
        ]
      }, isSearched: true)
  }

  private static let longestText = 200

  private func writeSamples(to page: inout HTMLPage) {
    guard !samples.isEmpty else { return }
    page.heading(2, "Samples")
    for entity in reader.entities {
      guard let objects = samples[entity.name], let first = objects.first else { continue }
      let count = rows[entity.name] ?? 0
      page.fold(
        "\(entity.name), \(objects.count) of \(count)", id: "entity-\(entity.number)", isSearched: true
      ) { page in
        page.table(
          [.init("Key", isNumber: true)] + first.values.map { .init($0.name) },
          objects.map { object in
            [.init("\(object.key)", isNumber: true)] + object.values.map { Self.cell(of: $0.value) }
          }, isSearched: true)
      }
    }
  }

  private static func cell(of value: ExportedValue) -> HTMLPage.Cell {
    switch value {
    case .null: return .init("none", style: "dim")
    case .boolean(let flag): return .init(flag ? "true" : "false")
    case .integer(let number): return .init("\(number)", isNumber: true)
    case .real(let number): return .init(DecimalText.plain(number), isNumber: true)
    case .decimal(let text): return .init(text, isNumber: true)
    case .date(let seconds): return .init(DateText.text(seconds))
    case .string(let text): return .init(shortened(text))
    case .binary(let data): return .init("\(data.count) bytes", style: "dim")
    case .stream(let value): return .init("\(value.count) bytes", style: "dim")
    case .reference(let id): return .init(object(id))
    case .references(let ids):
      let shown = ids.prefix(5).map(object).joined(separator: ", ")
      return .init(ids.count > 5 ? "\(shown) and \(ids.count - 5) more" : shown)
    case .composite(let parts):
      return .init(parts.map { "\($0.name): \(cell(of: $0.value).text)" }.joined(separator: ", "))
    }
  }

  private static func shortened(_ text: String) -> String {
    text.count > longestText ? text.prefix(longestText) + "…" : text
  }

  /// Returns an object's name, such as `Entity p12`.
  private static func object(_ id: String) -> String { id.split(separator: "/").suffix(2).joined(separator: " ") }
}
