// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// The state of the stores that a context reads.
enum ContextGeneration {
  /// The current state at each read.
  case latest
  /// The state at the next read.
  case pinnedByNextRead
  case pinned(NSQueryGenerationToken)
}

extension NSManagedObjectContext {
  /// The state of the stores that the context reads: nil, the default, for the current state at each read;
  /// `NSQueryGenerationToken.current` if the next read pins the context; or the token of a state.
  public var queryGenerationToken: NSQueryGenerationToken? {
    switch generation {
    case .latest: nil
    case .pinnedByNextRead: .current
    case .pinned(let token): token
    }
  }

  /// Chooses the state of the stores that fetches and faults read. Objects that already have their values keep them
  /// until they are refreshed.
  ///
  /// Saving, merging and `reset()` pin the context to a newer state. Saving detects conflicts with the current rows.
  /// Setting the generation of a context with a parent traps, because the context reads what its parent reads.
  ///
  /// - Parameter generation: `NSQueryGenerationToken.current` for the state at the context's next read; the token of a
  ///   context of the same coordinator for the state that it reads; or nil for the current state at each read.
  /// - Throws: 134091 if a store cannot pin a state, which only SQLite stores with a write-ahead log can, or if the
  ///   token belongs to another coordinator; the stores' errors.
  public func setQueryGenerationFrom(_ generation: NSQueryGenerationToken?) throws {
    ConcurrencyDebug.check(self)
    trap(unless: parent == nil, "A context with a parent reads what its parent reads: set the parent's generation.")
    guard let generation else {
      self.generation = .latest
      return
    }
    if let pinned = generation.generation {
      guard pinned.belongs(to: coordinator) else { throw StoreErrors.otherGeneration() }
      self.generation = .pinned(generation)
    } else {
      // Only trying shows whether all stores can pin a state.
      _ = try QueryGeneration(coordinator)
      self.generation = .pinnedByNextRead
    }
    prefetchedRows.removeAll()
  }

  /// Returns the state to read, and pins the context to it; nil for the current state at each read.
  func readGeneration() throws -> QueryGeneration? {
    switch generation {
    case .latest: return nil
    case .pinned(let token): return token.generation
    case .pinnedByNextRead:
      let token = NSQueryGenerationToken(try QueryGeneration(coordinator))
      generation = .pinned(token)
      return token.generation
    }
  }

  /// Runs a body that resolves conflicts. These involve the current rows, which a pinned context does not read.
  func readingLatest<Result>(_ body: () throws -> Result) rethrows -> Result {
    let pinned = generation
    if case .latest = pinned { return try body() }
    generation = .latest
    prefetchedRows.removeAll()
    defer {
      generation = pinned
      prefetchedRows.removeAll()
    }
    return try body()
  }

  /// Makes a pinned context read a newer state from now on.
  func advanceGeneration() {
    if case .pinned = generation { generation = .pinnedByNextRead }
  }

  /// Pins a pinned context to the state after its save.
  ///
  /// - Returns: the user info of notifications about the save.
  func advanceGenerationAfterSave() -> [String: Any] {
    if case .latest = generation { return [:] }
    generation = .pinnedByNextRead
    // The save has succeeded. If the state cannot be opened, the next read retries, and throws.
    _ = try? readGeneration()
    return queryGenerationToken.map { [NSManagedObjectContextQueryGenerationKey: $0] } ?? [:]
  }
}
