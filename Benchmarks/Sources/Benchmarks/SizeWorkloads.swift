// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Commands over large models, as processes from start to end, compared with parsing the XML of the model with Foundation and
/// reading the tables of the store with SQLite.
///
/// All of them are to take time in proportion to the size.
enum SizeWorkloads {
  static let all = SizedModel.allCases.flatMap { model -> [Workload] in
    switch model {
    case .entities2000: commands(model, limit: 1)
    case .entities10000: commands(model, limit: 5)
    case .depth499, .attributes1000: commands(model, limit: 5)
    case .versions500:
      [
        command("match", model, limit: 5) { ["store", "match", $0, $1] },
        command("plan", model, limit: 5) { ["migrate", "plan", $0, $1, "--allow-loss"] },
        command("run", model, limit: 5) { ["migrate", "run", $0, $1, "--allow-loss"] },
        command("check", model, limit: 5) { ["migrate", "check", $1, "--allow-loss"] },
        command("compile", model, limit: 5) { ["model", "compile", $1, "--output", $0 + ".momd"] },
      ]
    }
  }

  private static func commands(_ model: SizedModel, limit: Double) -> [Workload] {
    [
      command("create", model, limit: limit) { ["store", "create", $0 + ".new", $1] },
      command("info", model, limit: limit) { store, _ in ["store", "info", store] },
      command("verify", model, limit: limit) { store, _ in ["store", "verify", store] },
      command("export", model, limit: limit) { store, _ in ["store", "export", store] },
      command("graph", model, limit: limit) { ["model", "graph", $1, "--as", "html", "--output", $0 + ".html"] },
      command("lint", model, limit: limit) { ["model", "lint", $1] },
      command("plan", model, limit: limit) { ["migrate", "plan", $0, $1] },
      command("run", model, limit: limit) { ["migrate", "run", $0, $1] },
    ]
  }

  /// Creates the store of a model's first version, and its bundle.
  static func makeStore(at url: URL, of model: SizedModel) throws {
    let bundle = model.bundle(in: url.deletingLastPathComponent())
    try model.write(to: bundle)
    try Tool.run(["store", "create", url.path, bundle.path, "--version", model.firstVersion])
  }

  private static func command(
    _ name: String, _ model: SizedModel, limit: Double, _ arguments: @escaping @Sendable (String, String) -> [String]
  ) -> Workload {
    Workload(
      name: "\(name), \(model.title)", start: .sized(model), secondsLimit: limit, isOnDemand: true,
      library: { place in
        let words = arguments(place.store.path, model.bundle(in: place.shared).path)
        return try Measurement.of { try Tool.run(words, accepting: [0, 1]) }
      },
      byHand: { place in
        let bundle = model.bundle(in: place.shared)
        return try Measurement.of {
          for version in Set([model.firstVersion, model.lastVersion]) {
            let file = bundle.appendingPathComponent("\(version).xcdatamodel/contents")
            guard let stream = InputStream(url: file), XMLParser(stream: stream).parse() else {
              throw Failure(text: "\(file.path) is not XML")
            }
          }
          let database = try Database(place.store.path)
          for table in try database.texts("SELECT name FROM sqlite_master WHERE type = 'table'") {
            _ = try database.integer("SELECT COUNT(*) FROM \"\(table)\"")
          }
          try database.close()
        }
      })
  }
}
