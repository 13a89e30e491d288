// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The name of the store in errors.
///
/// Many errors arise where the store is unknown: in a mapping model, a model, a statement. The code that opens and
/// migrates stores adds it, so that the reason says which store is affected.
package enum ErrorLocation {
  /// Runs a body. If it throws an error of this framework that does not name the store, adds a sentence that does to
  /// the reason.
  ///
  /// Errors of the program, such as those of migration policies, are rethrown unchanged.
  ///
  /// - Parameter url: the location of the store; nil for a store without a file.
  package static func naming<Result>(_ url: URL?, _ body: () throws -> Result) throws -> Result {
    try naming({ _ in url }, body)
  }

  /// Runs a body that works on several stores.
  ///
  /// - Parameter place: returns the location of the store that an error is about.
  package static func naming<Result>(_ place: (NSError) -> URL?, _ body: () throws -> Result) throws -> Result {
    do {
      return try body()
    } catch {
      guard let url = place(error as NSError), let named = (error as NSError).naming(url) else { throw error }
      throw named
    }
  }

  /// Runs a body that works on a copy of a store. Errors of this framework that name the copy name the store instead.
  package static func naming<Result>(
    _ original: URL, insteadOf copy: URL, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch {
      throw (error as NSError).moved(from: copy, to: original) ?? error
    }
  }
}

extension NSError {
  /// Whether the error was created by this framework.
  private var isOwn: Bool { domain == NSCocoaErrorDomain && userInfo[ErrorDetail.reason] is String }

  /// Returns the error with a sentence about the location of the store; nil if it already contains the location, or is
  /// not an error of this framework.
  fileprivate func naming(_ url: URL) -> NSError? {
    let texts = [localizedDescription, localizedFailureReason, localizedRecoverySuggestion].compactMap { $0 }
    guard isOwn, url.path != "/dev/null", !texts.contains(where: { $0.contains(url.locationText) }) else { return nil }
    var info = userInfo
    let reason = localizedFailureReason ?? ""
    let end = reason.isEmpty || reason.hasSuffix(".") ? "" : "."
    info[NSLocalizedFailureReasonErrorKey] = reason + end + Self.sentence(url)
    info[ErrorDetail.url] = info[ErrorDetail.url] ?? url.withoutPassword
    return NSError(domain: domain, code: code, userInfo: info)
  }

  private static func sentence(_ url: URL) -> String { " The store is '\(url.locationText)'." }

  /// The reason without the location of the store, for messages that already name the store.
  package var reasonWithoutStore: String? {
    guard let reason = localizedFailureReason, let url = userInfo[ErrorDetail.url] as? URL else {
      return localizedFailureReason
    }
    let sentence = Self.sentence(url)
    return reason.hasSuffix(sentence) ? String(reason.dropLast(sentence.count)) : reason
  }

  /// Returns the error with a temporary copy's location replaced; nil if it does not contain that location.
  package func moved(from copy: URL, to original: URL) -> NSError? {
    guard domain == NSCocoaErrorDomain else { return nil }
    var isChanged = false
    func moved(_ value: Any) -> Any {
      var result: Any?
      switch value {
      case let url as URL where url.path == copy.path: result = original
      case let text as String where text.contains(copy.path):
        result = text.replacingOccurrences(of: copy.path, with: original.locationText)
      case let error as NSError: result = error.moved(from: copy, to: original)
      case let list as [NSError]:
        let errors = list.map { $0.moved(from: copy, to: original) }
        if errors.contains(where: { $0 != nil }) { result = zip(list, errors).map { $1 ?? $0 } }
      default: break
      }
      if result != nil { isChanged = true }
      return result ?? value
    }
    let info = userInfo.mapValues(moved)
    return isChanged ? NSError(domain: domain, code: code, userInfo: info) : nil
  }
}
