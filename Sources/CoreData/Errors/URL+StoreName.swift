// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension URL {
  /// The location of a store for messages: a path, or the URL of a store in a server, without its password.
  package var locationText: String { isFileURL || scheme == nil ? path : withoutPassword.absoluteString }

  /// The name of a store in messages: the file's name, or the schema in a URL, or else the database.
  package var storeName: String {
    if isFileURL || scheme == nil { return lastPathComponent }
    let items = URLComponents(url: self, resolvingAgainstBaseURL: false)?.queryItems ?? []
    let names = [items.last { $0.name == "schema" }?.value, lastPathComponent, scheme]
    return names.compactMap { $0 }.first { !$0.isEmpty && $0 != "/" } ?? lastPathComponent
  }

  /// The URL without a password, whether before the host or among the parameters.
  package var withoutPassword: URL {
    guard !isFileURL, var parts = URLComponents(url: self, resolvingAgainstBaseURL: false) else { return self }
    let items = parts.queryItems ?? []
    let kept = items.filter { !$0.name.lowercased().hasSuffix("password") }
    guard parts.password != nil || kept.count < items.count else { return self }
    parts.password = nil
    if kept.count < items.count { parts.queryItems = kept.isEmpty ? nil : kept }
    return parts.url ?? self
  }
}
