// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Dispatch
import Foundation
import Synchronization

/// The queue of a context. Immutable. Synchronous calls from the queue itself run immediately.
final class ContextQueue: @unchecked Sendable {
  /// The values by which the current thread's queue is recognized. Swift 6.0 does not know that keys can be shared.
  private struct Marks: @unchecked Sendable {
    let context = DispatchSpecificKey<ObjectIdentifier>()
    /// Marks the main queue. If the program's `main` is asynchronous, a thread other than the main thread may serve it.
    let main = DispatchSpecificKey<Bool>()

    init() { DispatchQueue.main.setSpecific(key: main, value: true) }
  }

  private static let marks = Marks()
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
      made.setSpecific(key: ContextQueue.marks.context, value: ObjectIdentifier(self))
    }
  }

  /// The queues that are blocked until the current thread's work is done. A call to one of them runs immediately,
  /// because waiting for it would deadlock.
  private static var waiting: Set<ObjectIdentifier> {
    get { Thread.current.threadDictionary["OpenCoreData.waiting"] as? Set<ObjectIdentifier> ?? [] }
    set { Thread.current.threadDictionary["OpenCoreData.waiting"] = newValue }
  }

  /// Whether the current thread is executing for the main queue.
  static var isOnMain: Bool { Thread.isMainThread || DispatchQueue.getSpecific(key: marks.main) == true }

  /// Represents the main queue among the waiting queues.
  private static let mainIdentity = ObjectIdentifier(DispatchQueue.main)

  private var identity: ObjectIdentifier { isMain ? ContextQueue.mainIdentity : ObjectIdentifier(self) }

  /// Whether the current thread is executing for the queue.
  var isCurrent: Bool {
    if isMain ? ContextQueue.isOnMain : queue == nil { return true }
    return DispatchQueue.getSpecific(key: ContextQueue.marks.context) == identity
      || ContextQueue.waiting.contains(identity)
  }

  /// The number of bodies that run on the queue or wait for it.
  private let load = Atomic<Int>(0)

  /// What a child does on its parent's queue. A thread that holds that queue, and waits for the child's, does it for the
  /// child.
  private final class Errand: @unchecked Sendable {
    let held: Set<ObjectIdentifier>
    /// Guarded by `waits`.
    private var isTaken = false
    private var work: (() -> Void)?
    private let done = DispatchSemaphore(value: 0)

    init(_ held: Set<ObjectIdentifier>, _ work: @escaping () -> Void) { (self.held, self.work) = (held, work) }

    func run() {
      work?()
      // The one that waits may not outlive its closure.
      work = nil
      done.signal()
    }

    func wait() { done.wait() }

    /// Takes the errand, unless another thread has.
    func take(_ waits: inout [ObjectIdentifier: Wait]) -> Bool {
      if isTaken { return false }
      isTaken = true
      for queue in held { waits[queue] = nil }
      return true
    }
  }

  /// What the work of a queue waits for.
  private struct Wait {
    let queue: ObjectIdentifier
    let errand: Errand?
  }

  /// The waits of all queues whose work has called another queue, which has not begun with that yet.
  private static let waits = Guarded<[ObjectIdentifier: Wait]>([:])

  private enum Turn {
    /// Wait, and restore the waits that the queues have had.
    case wait(outer: [ObjectIdentifier: Wait])
    /// Do this first, because the queue waits for it.
    case errand(Errand)
    /// Run the body now: the queue waits for one that the caller holds.
    case now
  }

  /// Runs a body on the queue, and waits for it.
  ///
  /// - Parameter isErrand: whether a child calls its parent's queue.
  func sync<T>(isErrand: Bool = false, _ body: () throws -> T) rethrows -> T {
    guard let queue, !isCurrent else { return try body() }
    // The caller's own queue will wait, too.
    var held = ContextQueue.waiting
    if let caller = DispatchQueue.getSpecific(key: ContextQueue.marks.context) { held.insert(caller) }
    if ContextQueue.isOnMain { held.insert(ContextQueue.mainIdentity) }
    func runHolding() throws -> T {
      let before = ContextQueue.waiting
      ContextQueue.waiting = before.union(held).union([identity])
      defer { ContextQueue.waiting = before }
      return try body()
    }
    let isBusy = load.add(1, ordering: .relaxed).oldValue > 0
    defer { load.subtract(1, ordering: .relaxed) }
    if held.isEmpty { return try queue.sync(execute: runHolding) }
    if isErrand, isMain || isBusy { return try send(held, runHolding, rescue: { throw $0 }) }
    while true {
      switch turn(held, nil) {
      case .errand(let errand): errand.run()
      case .now: return try runHolding()
      case .wait(let outer):
        defer { ContextQueue.restore(outer) }
        return try queue.sync {
          ContextQueue.waits.update { waits in held.forEach { waits[$0] = nil } }
          return try runHolding()
        }
      }
    }
  }

  /// Runs a body on the queue, or on a thread that holds the queue and waits for the caller's. `rescue` rethrows the body's
  /// error, which lets callers be `rethrows`.
  private func send<T>(
    _ held: Set<ObjectIdentifier>, _ body: () throws -> T, rescue: (any Error) throws -> T
  ) rethrows -> T {
    let result: Result<T, any Error> = withoutActuallyEscaping(body) { body in
      nonisolated(unsafe) var result: Result<T, any Error>?
      let errand = Errand(held) { result = Result { try body() } }
      while result == nil {
        switch turn(held, errand) {
        case .errand(let other): other.run()
        case .now: errand.run()
        case .wait(let outer):
          queue?.async { if ContextQueue.waits.update(errand.take) { errand.run() } }
          errand.wait()
          ContextQueue.restore(outer)
        }
      }
      guard let result else { trap("An errand has ended without a result.") }
      return result
    }
    switch result {
    case .success(let value): return value
    case .failure(let error): return try rescue(error)
    }
  }

  /// Decides what a caller that holds queues does, and records that they wait for this one if it is to wait.
  private func turn(_ held: Set<ObjectIdentifier>, _ errand: Errand?) -> Turn {
    ContextQueue.waits.update { waits in
      var queue = identity
      while let wait = waits[queue] {
        if held.contains(wait.queue) {
          guard let errand = wait.errand, errand.take(&waits) else { return .now }
          return .errand(errand)
        }
        queue = wait.queue
      }
      let outer = waits.filter { held.contains($0.key) }
      for queue in held { waits[queue] = Wait(queue: identity, errand: errand) }
      return .wait(outer: outer)
    }
  }

  private static func restore(_ outer: [ObjectIdentifier: Wait]) {
    if !outer.isEmpty { waits.update { $0.merge(outer) { _, earlier in earlier } } }
  }

  /// Runs a body on the queue asynchronously; without a queue, immediately.
  func async(_ body: @escaping @Sendable () -> Void) {
    guard let queue else {
      body()
      return
    }
    load.add(1, ordering: .relaxed)
    queue.async {
      body()
      self.load.subtract(1, ordering: .relaxed)
    }
  }

  /// Runs a block on the queue. Runs it immediately if the caller is on the queue and `schedule` is `immediate`.
  /// `rescue` rethrows the block's error, which lets callers be `rethrows`.
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

  /// Transfers a closure to another queue, and its result back, while the caller waits.
  private struct Work<T>: @unchecked Sendable {
    let body: () throws -> T

    init(_ body: @escaping () throws -> T) {
      self.body = body
    }

    func result() -> Result<Transfer<T>, any Error> { Result { Transfer(value: try body()) } }
  }

  private struct Transfer<T>: @unchecked Sendable {
    let value: T
  }
}
