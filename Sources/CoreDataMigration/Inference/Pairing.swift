// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Pairs the elements of two versions that share a renaming identifier.
///
/// The renaming identifier of an element is its name unless it declares one. If several elements share an identifier,
/// those with equal names are paired.
///
/// Differs from Apple: a destination element whose identifier has no match is paired with the source element whose name
/// is the declared identifier, or the element's own name if it declares none. Therefore no data is lost if a model
/// declares the former name of an element that had an identifier, or clears an old identifier.
package struct Pairing<Element> {
  /// Sorted by the destination's name.
  package let matched: [(source: Element, destination: Element)]
  package let added: [Element]
  package let removed: [Element]
  /// Identifiers shared by several destination elements, so that the successor of the source element is ambiguous.
  package let ambiguous: [(identifier: String, names: [String])]

  /// Pairs the elements of two lists.
  ///
  /// - Parameter fallsBackOnNames: Whether to pair by name also elements that declare an identifier without a match.
  ///   Use this only for comparisons on which no data depends.
  package init(
    _ source: [Element], _ destination: [Element], name: (Element) -> String, declared: (Element) -> String?,
    fallsBackOnNames: Bool = false
  ) {
    let pairs = PositionPairs(
      source.map { PairedName(name: name($0), declared: declared($0)) },
      destination.map { PairedName(name: name($0), declared: declared($0)) }, fallsBackOnNames: fallsBackOnNames)
    matched = pairs.matched.map { (source[$0.source], destination[$0.destination]) }
    added = pairs.added.map { destination[$0] }
    removed = pairs.removed.map { source[$0] }
    ambiguous = pairs.ambiguous
  }
}

/// What decides which elements are paired.
private struct PairedName {
  let name: String
  /// The renaming identifier; nil if the element declares none.
  let declared: String?

  var identifier: String { declared ?? name }
}

/// The pairs as positions in the two lists. Elements are large values, which sorting and grouping would copy.
private struct PositionPairs {
  private let source: [PairedName]
  private let destination: [PairedName]
  private(set) var matched: [(source: Int, destination: Int)] = []
  private(set) var added: [Int] = []
  private(set) var removed: [Int] = []
  private(set) var ambiguous: [(identifier: String, names: [String])] = []

  init(_ source: [PairedName], _ destination: [PairedName], fallsBackOnNames: Bool) {
    (self.source, self.destination) = (source, destination)
    if !matchByUniqueIdentifiers() { matchByGroups() }
    let taken = Set(matched.map { source[$0.source].name })
    var left: [String: Int] = [:]
    for position in source.indices.reversed() where !taken.contains(source[position].name) {
      left[source[position].name] = position
    }
    if !added.isEmpty, !left.isEmpty { matchByNames(&left, fallsBackOnNames) }
    matched.sort { destination[$0.destination].name < destination[$1.destination].name }
    added.sort { destination[$0].name < destination[$1].name }
    removed = left.values.sorted { source[$0].name < source[$1].name }
  }

  /// - Returns: false if elements of one side share an identifier. Then nothing is matched.
  private mutating func matchByUniqueIdentifiers() -> Bool {
    let positions = Dictionary(source.indices.map { (source[$0].identifier, $0) }) { first, _ in first }
    guard positions.count == source.count, Set(destination.map(\.identifier)).count == destination.count else {
      return false
    }
    for position in destination.indices {
      if let partner = positions[destination[position].identifier] {
        matched.append((partner, position))
      } else {
        added.append(position)
      }
    }
    return true
  }

  private mutating func matchByGroups() {
    let sources = Dictionary(grouping: source.indices) { source[$0].identifier }
    let groups = Dictionary(grouping: destination.indices) { destination[$0].identifier }
    for (identifier, new) in groups.sorted(by: { $0.key < $1.key }) {
      let old = sources[identifier] ?? []
      if old.count == 1, new.count == 1 {
        matched.append((old[0], new[0]))
        continue
      }
      let known = Dictionary(old.map { (source[$0].name, $0) }) { first, _ in first }
      for position in new {
        if let twin = known[destination[position].name] {
          matched.append((twin, position))
        } else {
          added.append(position)
        }
      }
      if !old.isEmpty, new.contains(where: { known[destination[$0].name] == nil }) {
        ambiguous.append((identifier, new.map { destination[$0].name }.sorted()))
      }
    }
  }

  /// Matches added elements with source elements by the name that they declare as their identifier, or by their own
  /// name.
  ///
  /// - Parameter left: The unmatched source elements by name.
  private mutating func matchByNames(_ left: inout [String: Int], _ fallsBackOnNames: Bool) {
    let late = added.filter { destination[$0].declared.map { left[$0] != nil } == true }
    let former = Dictionary(grouping: late) { destination[$0].declared ?? "" }
    let shared = Set(ambiguous.map(\.identifier))
    for (identifier, new) in former.sorted(by: { $0.key < $1.key }) where !shared.contains(identifier) {
      if new.count > 1 {
        ambiguous.append((identifier, new.map { destination[$0].name }.sorted()))
      } else if let old = left.removeValue(forKey: identifier) {
        matched.append((old, new[0]))
      }
    }
    let renamed = Set(matched.map { destination[$0.destination].name })
    for position in added {
      let element = destination[position]
      guard !renamed.contains(element.name), fallsBackOnNames || element.declared == nil else { continue }
      if let old = left.removeValue(forKey: element.name) { matched.append((old, position)) }
    }
    let found = Set(matched.map { destination[$0.destination].name })
    added.removeAll { found.contains(destination[$0].name) }
  }
}
