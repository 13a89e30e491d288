// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

extension AnyKeyPath {
  /// The key path as it is written, for messages. Swift does not know the names of computed properties, which are shown
  /// by their types: `\Trip.(String).count`.
  ///
  /// The description has addresses instead, which are others in every process.
  var words: String {
    var rest = "\(self)"[...]
    var words = ""
    while let start = rest.firstRange(of: "<computed 0x") {
      words += rest[..<start.lowerBound]
      rest = rest[start.upperBound...].drop { $0.isHexDigit || $0 == " " }
      guard let end = rest.firstRange(of: ")>") else { break }
      words += rest[..<end.lowerBound] + ")"
      rest = rest[end.upperBound...]
    }
    return words + rest
  }
}
