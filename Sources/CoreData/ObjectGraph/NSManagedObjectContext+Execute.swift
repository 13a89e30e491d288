// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Foundation

extension NSManagedObjectContext {
  /// Passes a request to the stores. An `NSAsynchronousFetchRequest` is started; its result says when it is done.
  ///
  /// - Parameter request: an asynchronous fetch.
  /// - Returns: a result of the class that belongs to the request.
  /// - Throws: 134060 for a request of another class, and for an asynchronous fetch in a context without a queue.
  public func execute(_ request: NSPersistentStoreRequest) throws -> NSPersistentStoreResult {
    switch request {
    case let request as any AsynchronousFetching:
      return try request.start(in: self)
    default:
      throw ObjectGraphErrors.badRequest(
        "execute(_:) cannot execute a request of the class \(type(of: request)).", entity: nil,
        suggestion: request is any AnyFetchRequest
          ? "Use fetch(_:) or count(for:)." : "Use save() to save changes.")
    }
  }

  /// The context whose block the current thread is running.
  @TaskLocal private static var current: NSManagedObjectContext?

  /// Runs a block of `perform` or `performAndWait`, with this context as the current one.
  func running<T>(_ block: () throws -> T) rethrows -> T {
    try NSManagedObjectContext.$current.withValue(self, operation: block)
  }

  fileprivate static var running: NSManagedObjectContext? { current }
}

extension NSFetchRequest {
  /// Executes the request in the context whose `perform` or `performAndWait` block is running.
  ///
  /// - Returns: as `NSManagedObjectContext.fetch(_:)`.
  /// - Throws: 134060 outside of such a block; as `NSManagedObjectContext.fetch(_:)`.
  public func execute() throws -> [ResultType] {
    guard let context = NSManagedObjectContext.running else {
      throw ObjectGraphErrors.badRequest(
        "execute() was called outside of a block of perform(_:) or performAndWait(_:), so there is no context to fetch in.",
        entity: entity, suggestion: "Call it in such a block, or use NSManagedObjectContext.fetch(_:).")
    }
    return try context.fetch(self)
  }
}
