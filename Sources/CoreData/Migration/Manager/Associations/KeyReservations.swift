// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Assigns each entity mapping an offset, so that a destination's primary key is its source's key plus the offset.
///
/// The first mapping into an empty table gets the offset 0, which preserves keys. Mappings from different entities of
/// one source table to different entities of one destination table share their offset, since their keys differ
/// already.
struct KeyReservations: Sendable {
  private struct Reservation {
    let sourceRoot: Int
    let destinationRoot: Int
    var sources: Set<Int>
    var destinations: Set<Int>
    let offset: Int64
    let last: Int64
  }

  private var reservations: [Reservation] = []
  /// The greatest key that may be in use, by destination table.
  private var greatest: [Int: Int64] = [:]

  /// An entity, and the root entity whose table it shares.
  struct Place: Hashable {
    let entity: Int
    let root: Int
  }

  /// Reserves keys for the rows of one mapping.
  ///
  /// - Parameters:
  ///   - keys: the range of keys in the source's table.
  ///   - inUse: the greatest key assigned in the destination's table.
  /// - Returns: the offset and the greatest reserved key; nil if there are not enough keys left.
  mutating func reserve(
    _ keys: ClosedRange<Int64>, of source: Place, for destination: Place, inUse: Int64
  ) -> (offset: Int64, last: Int64)? {
    func last(_ offset: Int64) -> Int64? {
      let (last, overflow) = keys.upperBound.addingReportingOverflow(offset)
      return overflow || last >= Int64.max / 2 ? nil : last
    }
    if let position = reservations.firstIndex(where: {
      $0.sourceRoot == source.root && $0.destinationRoot == destination.root
        && last($0.offset).map { [last = $0.last] in last >= $0 } ?? false
        && !$0.sources.contains(source.entity) && !$0.destinations.contains(destination.entity)
    }) {
      reservations[position].sources.insert(source.entity)
      reservations[position].destinations.insert(destination.entity)
      return (reservations[position].offset, reservations[position].last)
    }
    let used = max(greatest[destination.root] ?? 0, inUse)
    // Other programs may have inserted a row with a key below 1.
    var offset: Int64 = 0
    if used > 0 || keys.lowerBound <= 0 {
      let (next, overflow) = used.addingReportingOverflow(1)
      let (distance, isTooFar) = next.subtractingReportingOverflow(min(keys.lowerBound, 1))
      guard !overflow, !isTooFar else { return nil }
      offset = distance
    }
    guard let last = last(offset) else { return nil }
    greatest[destination.root] = last
    reservations.append(
      Reservation(
        sourceRoot: source.root, destinationRoot: destination.root, sources: [source.entity],
        destinations: [destination.entity], offset: offset, last: last))
    return (offset, last)
  }
}

/// Arithmetic on ranges of primary keys, which can be any integers in a file.
enum KeyArithmetic {
  /// The maximum number of parts of a range. Keys can be far apart: a file may have one row at each end of the range.
  private static let maxPartCount: UInt64 = 10_000

  /// Calls a body for the consecutive parts of a range.
  ///
  /// - Parameter size: the number of keys in a part, unless there would be too many parts.
  static func forEachPart(
    _ keys: ClosedRange<Int64>, by size: UInt64, _ body: (ClosedRange<Int64>) throws -> Void
  ) rethrows {
    let step = max(size, distance(keys) / maxPartCount)
    var next: Int64? = keys.lowerBound
    while let first = next {
      let left = distance(first...keys.upperBound)
      let last = left < step ? keys.upperBound : first &+ Int64(truncatingIfNeeded: step - 1)
      try body(first...last)
      next = last == keys.upperBound ? nil : last + 1
    }
  }

  /// Returns the difference between the last and the first key.
  static func distance(_ keys: ClosedRange<Int64>) -> UInt64 {
    UInt64(bitPattern: keys.upperBound &- keys.lowerBound)
  }

  /// Returns whether the keys are close enough together that reading the whole range is faster than reading single
  /// rows.
  static func isDense(_ keys: ClosedRange<Int64>, count: Int) -> Bool {
    distance(keys) < UInt64(count) * 8
  }
}
