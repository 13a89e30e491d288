// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// What a container class says about its folder, without parentheses.
///
/// Swift allows a type no property and method of the same name; a protocol can add the other spelling.
public protocol DefaultStoreDirectory {}

extension DefaultStoreDirectory where Self: NSPersistentContainer {
  /// Where stores are kept unless their descriptions say otherwise; the same as `defaultDirectoryURL()`.
  public static var defaultDirectoryURL: URL { defaultDirectoryURL() }
}

extension NSPersistentContainer: DefaultStoreDirectory {}
