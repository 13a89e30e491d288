// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// What is in the stores of a directory, for whoever reads them.
struct Manifest: Codable {
  struct Store: Codable, Equatable {
    /// The name of the file.
    var file: String
    /// Which model the store has.
    var model: ExchangeModel
    /// The version hash of each entity in hexadecimal digits.
    var hashes: [String: String]
    /// Of each entity, the values of its rows, under the row's code and the property's name.
    var rows: [String: [String: [String: String]]]
    /// The transactions of persistent history, each with its changes.
    var history: [[String]]
  }

  /// The framework that wrote the stores, and its system.
  var framework: String
  var system: String
  var stores: [Store]

  #if canImport(Darwin)
  static let ownFramework = "Apple's Core Data"
  #else
  static let ownFramework = "OpenCoreData"
  #endif

  static func url(in directory: URL) -> URL { directory.appendingPathComponent("manifest.json") }

  init(stores: [Store]) {
    framework = Self.ownFramework
    system = ProcessInfo.processInfo.operatingSystemVersionString
    self.stores = stores
  }

  init(from directory: URL) throws {
    self = try JSONDecoder().decode(Manifest.self, from: Data(contentsOf: Self.url(in: directory)))
  }

  func write(to directory: URL) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
    try encoder.encode(self).write(to: Self.url(in: directory))
  }
}

extension Manifest.Store {
  /// What is in an open store.
  init(of opened: OpenedStore) throws {
    file = opened.url.lastPathComponent
    model = opened.model
    hashes = opened.storeHashes
    rows = try opened.rows()
    history = try opened.history()
  }

  /// What another description of the same store says otherwise.
  func differences(from other: Manifest.Store) -> [String] {
    var result = Self.differences(hashes, other.hashes) { ["\(file): the hash of \($0): \($1) and \($2)"] }
    result += Self.differences(rows.mapValues { $0.keys.sorted() }, other.rows.mapValues { $0.keys.sorted() }) {
      ["\(file): rows of \($0): \($1) and \($2)"]
    }
    for (entity, own) in rows {
      for (code, values) in own {
        guard let others = other.rows[entity]?[code] else { continue }
        result += Self.differences(values, others) { ["\(file): \(entity) \(code).\($0): \($1) and \($2)"] }
      }
    }
    if history != other.history { result.append("\(file): history: \(history) and \(other.history)") }
    return result.sorted()
  }

  private static func differences<Value: Equatable>(
    _ first: [String: Value], _ second: [String: Value], _ text: (String, String, String) -> [String]
  ) -> [String] {
    Set(first.keys).union(second.keys).flatMap { key in
      first[key] == second[key]
        ? [] : text(key, first[key].map { "\($0)" } ?? "none", second[key].map { "\($0)" } ?? "none")
    }
  }
}
