// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The first objects of an order, chosen from any number of objects with memory for a few of them.
struct BestObjects {
  /// The number of objects beyond the wanted ones that are kept before the list is sorted again.
  private static let slack = 256

  private let count: Int
  private let order: ObjectOrder
  /// Puts objects that sort equally in the order of the result.
  private let arranged: ([NSManagedObject]) -> [NSManagedObject]
  private var kept: [NSManagedObject] = []
  /// The values of the last wanted object; nil as long as there are too few.
  private var last: [Any?]?

  /// - Parameters:
  ///   - count: the number of objects to choose.
  ///   - arranged: puts objects in the order in which those follow that sort equally.
  init(_ count: Int, _ order: ObjectOrder, _ arranged: @escaping ([NSManagedObject]) -> [NSManagedObject]) {
    (self.count, self.order, self.arranged) = (count, order, arranged)
  }

  mutating func add(_ object: NSManagedObject) throws {
    if let last, try order.order(order.values(of: object), last) == .orderedDescending { return }
    kept.append(object)
    if kept.count >= count + max(count, Self.slack) { try trim() }
  }

  private mutating func trim() throws {
    kept = Array(try order.sorted(arranged(kept)).prefix(count))
    last = try kept.count == count ? kept.last.map { try order.values(of: $0) } : nil
  }

  /// Returns the chosen objects, in order.
  mutating func objects() throws -> [NSManagedObject] {
    try trim()
    return kept
  }
}

/// Fetches whose predicate or order only memory can evaluate. They read the rows in parts, keep the objects within
/// offset and limit, and stop when they have them.
extension FetchExecution {
  /// Returns the objects within offset and limit; nil if there is no limit, or if the objects are not read from stores.
  func bestMatching() throws -> [NSManagedObject]? {
    guard query.limit > 0, areReadFromStores, !isSortedByCode, let end = end(adding: 0),
      end <= Int.max / 4, pending.isEmpty || !query.order.isEmpty
    else { return nil }
    if query.order.isEmpty { return window(try first(end)) }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    var best = BestObjects(end, ObjectOrder(query.order), inOrderOfKeys)
    for object in try matchingPending() { try best.add(object) }
    for source in sources {
      let before = best
      try readCandidates(query, in: source) { cursor in
        best = before
        try forEachWanted(cursor) { object in
          if !unsaved.contains(ObjectIdentifier(object)) { try best.add(object) }
          return true
        }
      }
    }
    return window(try best.objects())
  }

  /// Returns the first matching objects in the order in which the stores return their rows.
  private func first(_ count: Int) throws -> [NSManagedObject] {
    var objects: [NSManagedObject] = []
    for source in sources where objects.count < count {
      let before = objects
      try readCandidates(query, in: source) { cursor in
        objects = before
        try forEachWanted(cursor) { object in
          objects.append(object)
          return objects.count < count
        }
      }
    }
    return objects
  }

  /// Returns the number of objects within offset and limit; nil if the objects are not read from stores.
  func countInMemory() throws -> Int? {
    guard areReadFromStores else { return nil }
    let unsaved = Set(pending.map(ObjectIdentifier.init))
    var count = try matchingPending().count
    for source in sources {
      let before = count
      try readCandidates(query, in: source) { cursor in
        count = before
        try forEachWanted(cursor) { object in
          if !unsaved.contains(ObjectIdentifier(object)) { count += 1 }
          return true
        }
      }
    }
    count = max(count - query.offset, 0)
    return query.limit > 0 ? min(count, query.limit) : count
  }
}
