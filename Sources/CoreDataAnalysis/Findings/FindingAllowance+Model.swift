// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension FindingAllowance {
  /// Returns the allowance of a code in the user info of entities and their properties; nil where there is none.
  ///
  /// It stands under the key `coredata.allow`: a code and a reason, `DS102 moved to Archive`; several are separated by
  /// semicolons or line breaks. That of an entity is for its properties too.
  static func inModel(
    _ code: FindingCode, entities: [EntityDocument?], properties: [String?]
  ) -> FindingAllowance? {
    let places = entities.enumerated().flatMap { position, entity in
      let property = position < properties.count ? properties[position] : nil
      return [entity.flatMap { $0.values(of: property) }, entity?.userInfo]
    }
    for case .string(let text)? in places.compactMap({ $0?["coredata.allow"] }) {
      for line in text.split(whereSeparator: { $0 == ";" || $0.isNewline }) {
        let words = line.trimmingCharacters(in: .whitespaces).split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == code.rawValue else { continue }
        return FindingAllowance(code, reason: String(words[1]), origin: .model)
      }
    }
    return nil
  }

  /// Returns the allowance of a code for a finding about a version as a whole: in the user info of any of its entities.
  static func inModel(_ code: FindingCode, anywhereIn model: ModelDocument) -> FindingAllowance? {
    model.entities.lazy.compactMap { inModel(code, entities: [$0], properties: []) }.first
  }
}

extension EntityDocument {
  fileprivate func values(of property: String?) -> [String: PlainValue]? {
    attributes.first { $0.name == property }?.userInfo ?? relationships.first { $0.name == property }?.userInfo
  }
}
