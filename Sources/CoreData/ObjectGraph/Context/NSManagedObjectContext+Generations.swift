// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// Which state of the stores a context reads.
enum ContextGeneration {
  /// That of each moment.
  case latest
  /// That of the next read.
  case pinnedByNextRead
  case pinned(NSQueryGenerationToken)
}

extension NSManagedObjectContext {
  /// The state of the stores that the context reads: nil for that of each moment, which is the default,
  /// `NSQueryGenerationToken.current` if the next read pins it, or the token of a state.
  public var queryGenerationToken: NSQueryGenerationToken? {
    switch generation {
    case .latest: nil
    case .pinnedByNextRead: .current
    case .pinned(let token): token
    }
  }

  /// Chooses the state of the stores that fetches and faults read. Objects that have their values keep these until they
  /// are refreshed.
  ///
  /// Saving, merging and `reset()` pin the context to a newer state. Saving detects conflicts with the current rows.
  /// Setting the generation of a context with a parent stops the program: it reads what its parent reads.
  ///
  /// - Parameter generation: `NSQueryGenerationToken.current` for the state when the context next reads, the token of a
  ///   context of the same coordinator for the state that it reads, or nil for that of each moment.
  /// - Throws: 134091 if a store does not keep states, as only SQLite stores with a write-ahead log do, or if the token is
  ///   of another coordinator; the stores' errors.
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
      // Whether all stores keep states is known only by trying.
      _ = try QueryGeneration(coordinator)
      self.generation = .pinnedByNextRead
    }
    readAhead.removeAll()
  }

  /// Returns the state to read, and pins the context to it; nil for that of each moment.
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

  /// Runs a body that resolves conflicts: these are with current rows, which a pinned context does not read.
  func readingLatest<Result>(_ body: () throws -> Result) rethrows -> Result {
    let pinned = generation
    if case .latest = pinned { return try body() }
    generation = .latest
    readAhead.removeAll()
    defer {
      generation = pinned
      readAhead.removeAll()
    }
    return try body()
  }

  /// Has a pinned context read a newer state from now on.
  func advanceGeneration() {
    if case .pinned = generation { generation = .pinnedByNextRead }
  }

  /// Pins a pinned context to the state after its save.
  ///
  /// - Returns: the user info of notifications about the save.
  func advanceGenerationAfterSave() -> [String: Any] {
    if case .latest = generation { return [:] }
    generation = .pinnedByNextRead
    // The save has succeeded. If the state cannot be opened, the next read tries again and throws.
    _ = try? readGeneration()
    return queryGenerationToken.map { [NSManagedObjectContextQueryGenerationKey: $0] } ?? [:]
  }
}
