// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

/// A named version of a model.
///
/// Most versions are only compared, so a version consists of the document in its file and its hashes. A program's model is
/// made only of the versions that a migration goes through.
package struct ModelVersion {
  package let name: String
  private let content: Content

  /// The content that copies of a version share.
  private final class Content {
    let url: URL?
    var object: AnyObject?
    let makeDocument: () -> (ModelDocument, VersionHashes)
    lazy var made = makeDocument()

    init(url: URL?, _ makeDocument: @escaping () -> (ModelDocument, VersionHashes)) {
      self.url = url
      self.makeDocument = makeDocument
    }
  }

  /// Names a validated document.
  package init(name: String, document: ModelDocument, versionHashes: VersionHashes, url: URL? = nil) {
    self.name = name
    content = Content(url: url) { (document, versionHashes) }
  }

  /// Names a model of the program, whose document is made when it is first needed.
  package init(name: String, object: AnyObject, _ makeDocument: @escaping () -> (ModelDocument, VersionHashes)) {
    self.name = name
    content = Content(url: nil, makeDocument)
    content.object = object
  }

  /// The file that the version was read from; nil for a model of the program.
  package var url: URL? { content.url }

  /// The program's model of this version, kept here by the code that makes it.
  package var object: AnyObject? {
    get { content.object }
    nonmutating set { content.object = newValue }
  }

  /// The model of the version.
  package var document: ModelDocument { content.made.0 }

  /// The hashes of its entities and properties.
  package var versionHashes: VersionHashes { content.made.1 }

  /// The hash of each entity.
  package var hashes: [String: Data] { versionHashes.entities }

  /// Its likeness, for comparison with other versions.
  package var likeness: ModelLikeness { ModelLikeness(document, versionHashes) }

  /// Whether one of a store's identifiers is the version's. Empty identifiers are ignored.
  package func isNamed(by identifiers: [String]) -> Bool {
    identifiers.contains { !$0.isEmpty && ($0 == name || document.versionIdentifiers.contains($0)) }
  }
}
