// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Why a model file cannot be read, or why a model makes no sense: what was found, where, and what to do about it.
package struct ModelFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of failure, for callers that tell them apart.
  package enum Kind: Hashable, Sendable {
    case missingFile
    case missingContents
    case unreadableFile
    case unsupportedFile
    case notXML
    case brokenXML
    case notAnArchive
    case brokenArchive
    case unknownClass
    case unknownAttributeType
    case unreadableValue
    case unreadableExpression
    case missingName
    case duplicateEntity
    case duplicateProperty
    case missingParent
    case inheritanceCycle
    case missingDestination
    case missingInverse
    case missingProperty
    case missingComposite
    case missingEntity
    case unknownVersion
  }

  package var kind: Kind
  /// What was found, as a sentence.
  package var found: String
  /// What to do, as a sentence.
  package var advice: String
  package var file: String?
  package var line: Int?
  package var entity: String?
  package var property: String?

  /// Makes an error.
  package init(
    _ kind: Kind, found: String, advice: String, file: URL? = nil, line: Int? = nil, entity: String? = nil,
    property: String? = nil
  ) {
    self.kind = kind
    self.found = found
    self.advice = advice
    self.file = file?.path
    self.line = line
    self.entity = entity
    self.property = property
  }

  /// The same error with the file it was met in, unless it names one already.
  package func inFile(_ url: URL) -> ModelFileError {
    var copy = self
    copy.file = file ?? url.path
    return copy
  }

  package var description: String {
    var place: [String] = []
    if let file { place.append(file) }
    if let line { place.append("line \(line)") }
    switch (entity, property) {
    case (let entity?, let property?): place.append("\(entity).\(property)")
    case (let entity?, nil): place.append("entity \(entity)")
    case (nil, let property?): place.append("property \(property)")
    case (nil, nil): break
    }
    let prefix = place.isEmpty ? "" : place.joined(separator: ", ") + ": "
    return "\(prefix)\(found) \(advice)"
  }
}
