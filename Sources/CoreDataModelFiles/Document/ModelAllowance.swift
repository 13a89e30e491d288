// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataPredicates
import Foundation

/// Allowed findings in the user info of entities and properties.
///
/// The key `coredata.allow` has a code and a reason as its value, such as `DS102 moved to Archive`; several are
/// separated by semicolons or line breaks.
package enum ModelAllowance {
  /// Returns the reason given in a user info for allowing a code; nil if the code is not allowed, or has no reason.
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
  /// Returns the user info of an attribute or a relationship declared by the entity; nil if there is none with the
  /// name.
  package func propertyUserInfo(_ property: String?) -> [String: PlainValue]? {
    attributes.first { $0.name == property }?.userInfo ?? relationships.first { $0.name == property }?.userInfo
  }
}
