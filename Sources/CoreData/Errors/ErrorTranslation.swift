// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataFileSystem
import Foundation

/// An error of a lower target, or of a class of stores, for which programs get another error.
///
/// The conformance is in the `…Errors` file of the room that knows what the error means for a store.
package protocol TranslatableError: Error {
  /// Returns the error that programs get.
  func translated(in context: ErrorContext) -> any Error
}

/// The store, and the work on it, that an error interrupted.
package struct ErrorContext {
  /// Work on a store. Some errors have another code, or another meaning, in each.
  package enum Work {
    case opening
    case use
    /// Replacing a store with another that does not come from it.
    case replacement
  }

  /// The location of the store; nil if it is unknown.
  package let url: URL?
  package let work: Work

  /// Returns the location of the store, or else of the file that the error names.
  package func url(orPath path: String) -> URL { url ?? URL(fileURLWithPath: path) }

  /// The details of an `NSError` that names the store.
  package var details: [String: Any] {
    var details: [String: Any] = [:]
    details[ErrorDetail.url] = url
    details[NSFilePathErrorKey] = url?.path
    return details
  }
}

/// Translates errors at the boundary of the public interface.
package enum ErrorTranslation {
  /// Runs a body, and translates its errors to `NSError`. Errors of programs, and row conflicts, pass through.
  package static func translating<Result>(
    url: URL?, during work: ErrorContext.Work, _ body: () throws -> Result
  ) throws -> Result {
    do {
      return try body()
    } catch {
      throw translated(error, url: url, during: work)
    }
  }

  /// Returns an error as `translating(url:during:_:)` throws it.
  package static func translated(_ error: any Error, url: URL?, during work: ErrorContext.Work) -> any Error {
    let context = ErrorContext(url: url, work: work)
    if let error = error as? any TranslatableError { return error.translated(in: context) }
    let cocoa = error as NSError
    guard cocoa.isFoundationFileError, cocoa.hasFileCode else { return error }
    let path = cocoa.userInfo[NSFilePathErrorKey] as? String
    return FileErrors.error(cocoa, store: context.url(orPath: path ?? "/"))
  }
}

extension FileFailure: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    FileErrors.error(self, store: context.url(orPath: path))
  }
}

extension RegularFile.Problem: TranslatableError {
  package func translated(in context: ErrorContext) -> any Error {
    FileErrors.error(self, store: context.url(orPath: path))
  }
}
