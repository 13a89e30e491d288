// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataAnalysis
import CoreDataModelFiles
import CoreDataTestSupport
import Foundation

/// Models created by the project: generated ones, and one that uses every feature.
enum FuzzModels {
  static func documents() throws -> [ModelDocument] {
    var found = [CompanyModel.make().document]
    for seed in 1...12 {
      var model = GeneratedModel(seed: UInt64(seed))
      found.append(model.document)
      if let next = model.next() { found.append(next.document) }
    }
    return found.filter { document in
      do {
        try document.validate()
        return true
      } catch {
        return false
      }
    }
  }

  /// Does what the reading commands do with a model.
  static func use(_ document: ModelDocument, _ other: ModelDocument, _ lab: FuzzLab, creates: Bool) throws {
    try document.validate()
    _ = VersionHashes(document).checksum
    _ = ModelDescription(document)
    _ = ModelDifference(from: other, to: document)
    _ = ModelDifference(from: document, to: other)
    let model = try NSManagedObjectModel(document: document)
    _ = model.entityVersionHashesByName
    _ = try ModelCache.unarchive(ModelCache.archive(document))
    guard creates else { return }
    let url = try lab.fresh().appendingPathComponent("Made.sqlite")
    _ = try StoreReader.create(at: url, model: document).counts()
  }

  /// Returns the result in a word.
  static func summary(_ document: ModelDocument) -> String {
    let attributes = document.entities.reduce(0) { $0 + $1.attributes.count }
    let relationships = document.entities.reduce(0) { $0 + $1.relationships.count }
    func size(_ count: Int) -> Int { count < 4 ? count : count < 16 ? 4 : 16 }
    return "model \(size(document.entities.count)) \(size(attributes)) \(size(relationships)) "
      + "\(size(document.fetchRequestTemplates.count)) \(size(document.configurations.count))"
  }
}

/// Runs single models.
struct ModelRunner: FuzzRunner {
  enum Form {
    case source
    case compiled
  }

  private let lab: FuzzLab
  private let form: Form
  private let documents: [ModelDocument]
  private var ours: [Data] = []
  private var others: [Data] = []
  private var kept: [FuzzInput]

  init(_ lab: FuzzLab, form: Form) throws {
    self.lab = lab
    self.form = form
    documents = try FuzzModels.documents()
    kept = try lab.kept(form == .source ? .source : .compiled)
    for document in documents {
      switch form {
      case .source:
        let url = try lab.fresh().appendingPathComponent("M.xcdatamodel")
        try ModelBundle.writeSource(document, to: url)
        ours.append(try Data(contentsOf: url.appendingPathComponent("contents")))
      case .compiled:
        let url = try lab.fresh().appendingPathComponent("M.mom")
        try ModelBundle.writeCompiled(document, to: url)
        ours.append(try Data(contentsOf: url))
        ours.append(try ModelCache.archive(document))
      }
    }
    others = try lab.fixtures {
      form == .source ? $0.hasSuffix(".xcdatamodel/contents") : $0.hasSuffix(".mom") || $0.hasSuffix(".omo")
    }.map(\.data)
  }

  private var path: String { form == .source ? "M.xcdatamodel/contents" : "M.mom" }

  func input(_ random: inout FuzzRandom) throws -> FuzzInput {
    let isOurs = others.isEmpty || !random.oneIn(4)
    var base = isOurs ? random.pick(ours) : random.pick(others)
    if isOurs, !kept.isEmpty, random.oneIn(4) { base = random.pick(kept).files[path] ?? base }
    let other = isOurs ? random.pick(ours) : random.pick(others)
    let data: Data
    switch form {
    case .source: data = TextMutation.damage(base, with: other, &random)
    case .compiled:
      data =
        random.oneIn(200)
        ? PropertyListMutation.hostile(&random) : PropertyListMutation.damage(base, with: other, &random)
    }
    return FuzzInput(files: [path: data], isOurs: isOurs)
  }

  func run(_ input: FuzzInput, _ random: inout FuzzRandom) throws -> String {
    let data = input.files[path] ?? Data()
    let isCache = form == .compiled && random.oneIn(3)
    let document: ModelDocument
    if isCache {
      document = try ModelCache.decode(RawDeflate.compress(data))
    } else {
      let folder = try lab.fresh()
      try input.write(to: folder)
      let file = folder.appendingPathComponent(form == .source ? "M.xcdatamodel" : "M.mom")
      document = try ModelBundle(contentsOf: file).currentDocument()
    }
    try FuzzModels.use(document, random.pick(documents), lab, creates: random.oneIn(64))
    return FuzzModels.summary(document)
  }
}
