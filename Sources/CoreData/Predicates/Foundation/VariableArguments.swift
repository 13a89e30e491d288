// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Apple's compiler bridges `id as CVarArg` to an object. On other systems the values themselves are variable arguments:
// predicates use them directly, and `String(format:)` and a `CVaListPointer` use their descriptions.

extension UUID: @retroactive CVarArg {}
extension UUID: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: uuidString) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: uuidString)._cVarArgEncoding }
}

extension Date: @retroactive CVarArg {}
extension Date: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension URL: @retroactive CVarArg {}
extension URL: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: absoluteString) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: absoluteString)._cVarArgEncoding }
}

extension Data: @retroactive CVarArg {}
extension Data: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension Array: @retroactive CVarArg {}
extension Array: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension Set: @retroactive CVarArg {}
extension Set: @retroactive _CVarArgObject {
  /// The object passed in place of the value, which lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, because an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}
