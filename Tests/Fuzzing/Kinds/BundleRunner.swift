// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataModelFiles
import Foundation

/// Runs models with several versions, with the property lists that name the current one and record hashes.
struct BundleRunner: FuzzRunner {
  private let lab: FuzzLab
  private let documents: [ModelDocument]
  private var bases: [[String: Data]] = []
  private var lists: [Data] = []

  init(_ lab: FuzzLab) throws {
    self.lab = lab
    documents = Array(try FuzzModels.documents().prefix(6))
    for start in stride(from: 0, to: 6, by: 2) {
      let versions = documents[start..<start + 2].enumerated().map { ("V\($0.offset + 1)", $0.element) }
      let compiled = try lab.fresh()
      try ModelBundle.writeCompiled(versions, current: "V2", to: compiled.appendingPathComponent("M.momd"))
      bases.append(try FuzzInput(contentsOf: compiled).files)
      let source = try lab.fresh()
      try ModelBundle.writeSource(versions, current: "V2", to: source.appendingPathComponent("M.xcdatamodeld"))
      bases.append(try FuzzInput(contentsOf: source).files)
    }
    lists = try lab.fixtures { $0.hasSuffix("VersionInfo.plist") || $0.hasSuffix(".xccurrentversion") }.map(\.data)
  }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    var input = FuzzInput(files: random.pick(bases))
    let names = input.files.keys.sorted()
    let marks = names.filter { $0.hasSuffix("VersionInfo.plist") || $0.hasSuffix(".xccurrentversion") }
    let path = marks.isEmpty || random.oneIn(5) ? random.pick(names) : random.pick(marks)
    var base = input.files[path] ?? Data()
    if !lists.isEmpty, marks.contains(path), random.oneIn(4) {
      base = random.pick(lists)
      input.isOurs = false
    }
    switch random.below(8) {
    case 0: base = PropertyListMutation.hostile(&random)
    case 1: base = Self.nestedXML(&random)
    default:
      base =
        base.starts(with: Data("bplist".utf8))
        ? PropertyListMutation.damage(base, &random) : TextMutation.damage(base, &random)
    }
    input.files[path] = base
    if random.oneIn(10) { input.files[random.pick(names)] = nil }
    return input
  }

  /// Returns deeply nested property lists, as XML and in the old text format.
  static func nestedXML(_ random: inout FuzzRandom) -> Data {
    let count = random.pick([10, 500, 5_000, 100_000])
    let body: String
    switch random.below(4) {
    case 0: body = String(repeating: "<array>", count: count) + String(repeating: "</array>", count: count)
    case 1:
      body =
        String(repeating: "<dict><key>a</key>", count: count) + "<string/>" + String(repeating: "</dict>", count: count)
    case 2: return Data((String(repeating: "(", count: count) + String(repeating: ")", count: count)).utf8)
    default: return Data((String(repeating: "{a=", count: count) + "x" + String(repeating: ";}", count: count)).utf8)
    }
    return Data("<?xml version=\"1.0\" encoding=\"UTF-8\"?><plist version=\"1.0\">\(body)</plist>".utf8)
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let folder = try lab.fresh()
    try input.write(to: folder)
    guard let name = input.files.keys.sorted().first?.split(separator: "/").first.map(String.init) else { return "" }
    let bundle = try ModelBundle(contentsOf: folder.appendingPathComponent(name))
    for version in bundle.versions { try version.document.validate() }
    _ = bundle.recordedHashes.mapValues { VersionHashes.checksum(of: $0) }
    let current = try bundle.currentDocument()
    _ = try NSManagedObjectModel(document: current)
    return "bundle \(bundle.versions.count) \(bundle.currentVersionName ?? "none") \(bundle.recordedHashes.count)"
  }
}
