// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Allowances of findings in the user info of entities and properties.
///
/// They stand under the key `coredata.allow`: a code and a reason, `DS102 moved to Archive`; several are separated by semicolons
/// or line breaks.
package enum ModelAllowance {
  /// Returns the reason for which a user info allows a code; nil where it does not, or gives no reason.
  package static func reason(for code: String, in userInfo: [String: PlainValue]?) -> String? {
    guard case .string(let text)? = userInfo?["coredata.allow"] else { return nil }
    for line in text.split(whereSeparator: { $0 == ";" || $0.isNewline }) {
      let words = line.trimmingCharacters(in: .whitespaces).split(separator: " ", maxSplits: 1)
      if words.count == 2, words[0] == code { return String(words[1]) }
    }
    return nil
  }
}

extension EntityDocument {
  /// The user info of an attribute or a relationship that the entity declares; nil where there is none of the name.
  package func propertyUserInfo(_ property: String?) -> [String: PlainValue]? {
    attributes.first { $0.name == property }?.userInfo ?? relationships.first { $0.name == property }?.userInfo
  }
}
