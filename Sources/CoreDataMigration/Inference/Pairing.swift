// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Which elements of two versions are the same one: those that share a renaming identifier.
///
/// An element without a renaming identifier has its name for one. Where several share an identifier, those of equal name
/// belong together.
///
/// Differs from Apple: an element whose identifier is found on neither side, and which declares none in the destination,
/// is matched by its name. So a rename of the past does not cost data when its identifier is later cleared.
package struct Pairing<Element> {
  package private(set) var matched: [(source: Element, destination: Element)] = []
  package private(set) var added: [Element] = []
  package private(set) var removed: [Element] = []
  /// Identifiers that several destination elements share, so that it cannot be told which one the source became.
  package private(set) var ambiguous: [(identifier: String, names: [String])] = []

  package init(
    _ source: [Element], _ destination: [Element], name: (Element) -> String, declared: (Element) -> String?
  ) {
    let sources = Dictionary(grouping: source) { declared($0) ?? name($0) }
    let destinations = Dictionary(grouping: destination) { declared($0) ?? name($0) }
    for (identifier, new) in destinations.sorted(by: { $0.key < $1.key }) {
      let old = sources[identifier] ?? []
      if old.count == 1, new.count == 1 {
        matched.append((old[0], new[0]))
        continue
      }
      let known = Dictionary(old.map { (name($0), $0) }) { first, _ in first }
      for element in new {
        if let twin = known[name(element)] { matched.append((twin, element)) } else { added.append(element) }
      }
      if !old.isEmpty, new.contains(where: { known[name($0)] == nil }) {
        ambiguous.append((identifier, new.map(name).sorted()))
      }
    }
    let taken = Set(matched.map { name($0.source) })
    var left = Dictionary(source.filter { !taken.contains(name($0)) }.map { (name($0), $0) }) { first, _ in first }
    for element in added where declared(element) == nil {
      if let old = left.removeValue(forKey: name(element)) { matched.append((old, element)) }
    }
    let found = Set(matched.map { name($0.destination) })
    matched.sort { name($0.destination) < name($1.destination) }
    added = added.filter { !found.contains(name($0)) }.sorted { name($0) < name($1) }
    removed = left.values.sorted { name($0) < name($1) }
  }
}
