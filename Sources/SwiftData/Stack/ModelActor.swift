// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Dispatch
import Foundation

/// An actor with a context of its own. `@ModelActor` makes an actor conform.
public protocol ModelActor: Actor {
  /// The container of the context.
  nonisolated var modelContainer: ModelContainer { get }
  /// Runs the actor's code on the context's queue.
  nonisolated var modelExecutor: any ModelExecutor { get }
}

extension ModelActor {
  /// The context.
  public var modelContext: ModelContext { modelExecutor.modelContext }

  /// The executor of the actor.
  public nonisolated var unownedExecutor: UnownedSerialExecutor {
    guard let serial = modelExecutor as? any SerialModelExecutor else {
      trap("The executor of \(Self.self) must be a SerialModelExecutor, but is a \(type(of: modelExecutor)).")
    }
    return serial.asUnownedSerialExecutor()
  }

  /// The model with an identifier; nil if it has another type.
  public subscript<T: PersistentModel>(_ id: PersistentIdentifier, as type: T.Type) -> T? {
    modelContext.model(for: id) as? T
  }
}

/// An executor with a context.
public protocol ModelExecutor: Executor {
  /// The context, which is used only by jobs of the executor.
  var modelContext: ModelContext { get }
}

/// A serial executor with a context.
public protocol SerialModelExecutor: ModelExecutor, SerialExecutor {}

/// Runs the jobs of an actor on the queue of a context.
public final class DefaultSerialModelExecutor: SerialModelExecutor, @unchecked Sendable {
  // The context is used only by the jobs.

  /// The context.
  public let modelContext: ModelContext
  private let queue = DispatchQueue(label: "DefaultSerialModelExecutor")

  /// Creates an executor.
  ///
  /// - Parameter modelContext: a context that nothing else uses.
  public init(modelContext: ModelContext) {
    self.modelContext = modelContext
    modelContext.core.mergeChanges()
  }

  /// Runs a job after those before it.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    let managed = modelContext.managed
    // The queue is the executor's identity, and the context checks that its own queue is used.
    queue.async { managed.performAndWait { job.runSynchronously(on: executor) } }
  }

  /// Returns the executor.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }

  /// Traps unless the caller is a job of this executor.
  public func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }

  /// Returns whether both are the same executor.
  public func isSameExclusiveExecutionContext(other: DefaultSerialModelExecutor) -> Bool { self === other }
}
