// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Foundation

/// The queue of a context. Synchronous calls from the queue itself run at once.
final class ContextQueue: @unchecked Sendable {
  private static let key = DispatchSpecificKey<ObjectIdentifier>()
  private let queue: DispatchQueue?
  private let isMain: Bool

  init(_ type: NSManagedObjectContextConcurrencyType) {
    isMain = type == .mainQueueConcurrencyType
    switch type {
    case .confinementConcurrencyType:
      queue = nil
    case .mainQueueConcurrencyType:
      queue = .main
    case .privateQueueConcurrencyType:
      let made = DispatchQueue(label: "NSManagedObjectContext")
      queue = made
      made.setSpecific(key: ContextQueue.key, value: ObjectIdentifier(self))
    }
  }

  /// The queues that are blocked until the current thread's work is done. A call to one of them runs at once, since
  /// waiting for it would deadlock.
  private static var waiting: Set<ObjectIdentifier> {
    get { Thread.current.threadDictionary["OpenCoreData.waiting"] as? Set<ObjectIdentifier> ?? [] }
    set { Thread.current.threadDictionary["OpenCoreData.waiting"] = newValue }
  }

  /// Marks the main queue, which another thread than the main one may serve if the program's `main` is asynchronous.
  private static let mainMark: DispatchSpecificKey<Bool> = {
    let key = DispatchSpecificKey<Bool>()
    DispatchQueue.main.setSpecific(key: key, value: true)
    return key
  }()

  /// Whether the current thread is executing for the main queue.
  static var isOnMain: Bool { Thread.isMainThread || DispatchQueue.getSpecific(key: mainMark) == true }

  private var isCurrent: Bool {
    if isMain ? ContextQueue.isOnMain : queue == nil { return true }
    let own = ObjectIdentifier(self)
    return DispatchQueue.getSpecific(key: ContextQueue.key) == own || ContextQueue.waiting.contains(own)
  }

  func sync<T>(_ body: () throws -> T) rethrows -> T {
    guard let queue, !isCurrent else { return try body() }
    let waiting = ContextQueue.waiting
    return try queue.sync {
      let before = ContextQueue.waiting
      ContextQueue.waiting = waiting.union([ObjectIdentifier(self)])
      defer { ContextQueue.waiting = before }
      return try body()
    }
  }

  /// Runs a body on the queue later; without a queue, at once.
  func async(_ body: @escaping @Sendable () -> Void) {
    guard let queue else {
      body()
      return
    }
    queue.async(execute: body)
  }

  /// Runs a block on the queue; at once if the caller is on it and `schedule` is `immediate`. `rescue` rethrows the
  /// block's error, which lets callers be `rethrows`.
  func run<T>(
    _ schedule: NSManagedObjectContext.ScheduledTaskType, isolation: isolated (any Actor)?,
    _ body: @escaping () throws -> T, rescue: (any Error) throws -> T
  ) async rethrows -> T {
    if schedule == .immediate, isCurrent { return try body() }
    let work = Work(body)
    let result: Result<Transfer<T>, any Error> = await withCheckedContinuation { continuation in
      async { continuation.resume(returning: work.result()) }
    }
    switch result {
    case .success(let transfer): return transfer.value
    case .failure(let error): return try rescue(error)
    }
  }

  /// Carries a closure to another queue and its result back, while the caller waits.
  private struct Work<T>: @unchecked Sendable {
    let body: () throws -> T

    init(_ body: @escaping () throws -> T) {
      self.body = body
    }

    func result() -> Result<Transfer<T>, any Error> {
      Result { Transfer(value: try body()) }
    }
  }

  private struct Transfer<T>: @unchecked Sendable {
    let value: T
  }
}

extension NSManagedObjectContext {
  /// When `perform(schedule:_:)` runs its block.
  public enum ScheduledTaskType: Sendable {
    /// At once if the caller is already on the context's queue.
    case immediate
    /// After the blocks already enqueued.
    case enqueued
  }

  /// Runs a block on the context's queue and returns at once.
  ///
  /// - Parameter block: work with the context's objects.
  public func perform(_ block: @escaping () -> Void) {
    // The block runs only on the context's queue.
    nonisolated(unsafe) let block = block
    queue.async {
      block()
      self.processPendingChanges()
    }
  }

  /// Runs a block on the context's queue and waits for it.
  ///
  /// - Parameter block: work with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  public func performAndWait<T>(_ block: () throws -> T) rethrows -> T {
    try queue.sync(block)
  }

  /// Runs a block on the context's queue.
  ///
  /// - Parameters:
  ///   - schedule: when to run the block.
  ///   - isolation: where the caller runs; leave it out.
  ///   - block: work with the context's objects.
  /// - Returns: what the block returns.
  /// - Throws: what the block throws.
  public func perform<T>(
    schedule: ScheduledTaskType = .immediate, isolation: isolated (any Actor)? = #isolation,
    _ block: @escaping () throws -> T
  ) async rethrows -> T {
    try await queue.run(
      schedule, isolation: isolation,
      {
        defer { self.processPendingChanges() }
        return try block()
      }, rescue: { throw $0 })
  }
}
