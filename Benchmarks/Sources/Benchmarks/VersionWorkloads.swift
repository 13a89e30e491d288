// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Models with many versions: finding the version of a store and planning its migration, compared with reading all
/// versions and parsing their XML or property lists with Foundation.
///
/// The commands of `coredata` are measured as processes, from start to end.
enum VersionWorkloads {
  static let all =
    Form.allCases.flatMap { form in
      [
        planning("plan 1 step", form, from: 1, limit: 0.3),
        planning("plan 100 steps", form, from: 100, limit: 1),
        command("match, 1 version behind", form, from: 1, ["store", "match"], limit: 0.15),
        command("match, 100 versions behind", form, from: 100, ["store", "match"], limit: 0.15),
        command("status, 1 version behind", form, from: 1, ["migrate", "status"]),
        command("status, 100 versions behind", form, from: 100, ["migrate", "status"]),
      ]
    }

  /// The forms of a bundle.
  enum Form: String, CaseIterable {
    case source = "xcdatamodeld"
    case compiled = "momd"

    func bundle(in folder: URL) -> URL { folder.appendingPathComponent("Versions.\(rawValue)", isDirectory: true) }
  }

  /// Creates the store of a version, and the bundles if they do not exist.
  static func makeStore(at url: URL, versionsBehind count: Int) throws {
    let folder = url.deletingLastPathComponent()
    let source = Form.source.bundle(in: folder)
    if !FileManager.default.fileExists(atPath: source.path) {
      try VersionedModel.write(to: source)
      try Tool.run(["model", "compile", source.path, "--output", Form.compiled.bundle(in: folder).path])
    }
    let version = VersionedModel.name(VersionedModel.versionCount - count)
    let model = try NSManagedObjectModel.load(contentsOf: source, version: version)
    let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
    try coordinator.remove(try coordinator.addPersistentStore(type: .sqlite, at: url))
  }

  private static func planning(_ name: String, _ form: Form, from count: Int, limit: Double) -> Workload {
    Workload(
      name: "\(name), .\(form.rawValue)", start: count == 1 ? .versionBehind : .versionsBehind, secondsLimit: limit,
      library: { place in
        let bundle = form.bundle(in: place.shared)
        return try Measurement.of {
          let migration = try StoreMigration(storeAt: place.store, modelsAt: bundle)
          guard migration.steps.count == count else {
            throw Failure(text: "\(migration.steps.count) steps were planned instead of \(count)")
          }
        }
      },
      byHand: { place in try parse(form, in: place) })
  }

  private static func command(
    _ name: String, _ form: Form, from count: Int, _ words: [String], limit: Double? = nil
  ) -> Workload {
    Workload(
      name: "\(name), .\(form.rawValue)", start: count == 1 ? .versionBehind : .versionsBehind, secondsLimit: limit,
      library: { place in
        try Measurement.of { try Tool.run(words + [place.store.path, form.bundle(in: place.shared).path]) }
      },
      byHand: { place in try parse(form, in: place) })
  }

  /// Reads and parses all versions one after the other, and discards the result.
  private static func parse(_ form: Form, in place: Workload.Place) throws -> Measurement {
    let bundle = form.bundle(in: place.shared)
    return try Measurement.of {
      for version in 1...VersionedModel.versionCount {
        let name = VersionedModel.name(version)
        switch form {
        case .source:
          let file = bundle.appendingPathComponent("\(name).xcdatamodel/contents")
          guard XMLParser(data: try Data(contentsOf: file)).parse() else { throw Failure(text: "\(name) is not XML") }
        case .compiled:
          let data = try Data(contentsOf: bundle.appendingPathComponent("\(name).mom"))
          _ = try PropertyListSerialization.propertyList(from: data, format: nil)
        }
      }
    }
  }
}
