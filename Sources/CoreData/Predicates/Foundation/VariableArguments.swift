// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

// Apple's compiler bridges `id as CVarArg` to an object. Elsewhere the values are variable arguments themselves: predicates
// take them as they are, and `String(format:)` and a `CVaListPointer` get their descriptions.

extension UUID: @retroactive CVarArg {}
extension UUID: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: uuidString) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: uuidString)._cVarArgEncoding }
}

extension Date: @retroactive CVarArg {}
extension Date: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension URL: @retroactive CVarArg {}
extension URL: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: absoluteString) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: absoluteString)._cVarArgEncoding }
}

extension Data: @retroactive CVarArg {}
extension Data: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension Array: @retroactive CVarArg {}
extension Array: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}

extension Set: @retroactive CVarArg {}
extension Set: @retroactive _CVarArgObject {
  /// The object that is passed in place of the value, and lives until the call ends.
  public var _cVarArgObject: any CVarArg { NSString(string: description) }
  /// Not used, since an object is passed.
  public var _cVarArgEncoding: [Int] { NSString(string: description)._cVarArgEncoding }
}
