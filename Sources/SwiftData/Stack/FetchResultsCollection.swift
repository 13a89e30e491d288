// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData
import CoreDataMistakes
import Foundation

/// The results of a fetch in batches: elements are read from the store when they are first used.
public struct FetchResultsCollection<Element>: RandomAccessCollection {
  private let batches: ResultBatches<Element>

  init(_ batches: ResultBatches<Element>) { self.batches = batches }
  /// Creates a collection of models that have been read.
  init(_ elements: [Element]) { batches = ResultBatches(elements) }

  /// The position of the first element.
  public var startIndex: Int { 0 }
  /// The position after the last element.
  public var endIndex: Int { batches.count }

  /// The element at a position. Reading it may read the batch around it from the store.
  public subscript(position: Int) -> Element { batches.element(at: position) }
}

/// The identifiers of all results, and the elements of the batch used last.
final class ResultBatches<Element> {
  let count: Int
  private let identifiers: [NSManagedObjectID]
  private let size: Int
  private let read: ([NSManagedObjectID]) throws -> [Element]
  private var first = 0
  private var elements: [Element] = []

  /// - Parameters:
  ///   - identifiers: the identifiers of all results.
  ///   - size: the number of elements in a batch.
  ///   - read: returns the elements with identifiers.
  init(_ identifiers: [NSManagedObjectID], size: Int, read: @escaping ([NSManagedObjectID]) throws -> [Element]) {
    (self.identifiers, self.size, self.read) = (identifiers, max(size, 1), read)
    count = identifiers.count
  }

  init(_ elements: [Element]) {
    (self.elements, identifiers, size, count) = (elements, [], max(elements.count, 1), elements.count)
    read = { _ in elements }
  }

  func element(at position: Int) -> Element {
    if position < first || position >= first + elements.count {
      first = position / size * size
      do {
        elements = try read(Array(identifiers[first..<Swift.min(first + size, identifiers.count)]))
      } catch {
        trap("The models from position \(first) of a fetch in batches cannot be read: \(error)")
      }
    }
    return elements[position - first]
  }
}
