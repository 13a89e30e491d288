// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension FindingAllowance {
  /// Returns the allowance of a code in the user info of entities and their properties; nil if there is none.
  ///
  /// The key `coredata.allow` has a code and a reason as its value, such as `DS102 moved to Archive`; several are
  /// separated by semicolons or line breaks. An allowance of an entity also applies to its properties.
  static func inModel(
    _ code: FindingCode, entities: [EntityDocument?], properties: [String?]
  ) -> FindingAllowance? {
    let places = entities.enumerated().flatMap { position, entity in
      let property = position < properties.count ? properties[position] : nil
      return [entity?.propertyUserInfo(property), entity?.userInfo]
    }
    return places.lazy.compactMap { ModelAllowance.reason(for: code.rawValue, in: $0) }.first
      .map { FindingAllowance(code, reason: $0, origin: .model) }
  }

  /// Returns the allowance of a code for a finding about a whole version, which may be in the user info of any entity.
  static func inModel(_ code: FindingCode, anywhereIn model: ModelDocument) -> FindingAllowance? {
    model.entities.lazy.compactMap { inModel(code, entities: [$0], properties: []) }.first
  }
}
