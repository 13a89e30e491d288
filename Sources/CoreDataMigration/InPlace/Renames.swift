// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An order in which names of one space, such as the columns of a table, can be replaced one after the other.
///
/// A name that is wanted may still be that of something else: that gets a temporary name first.
struct Renames {
  /// Each with the name at that time.
  private(set) var steps: [(from: String, to: String)] = []
  /// The names afterwards, by the names before; what keeps its name is left out.
  private(set) var present: [String: String] = [:]

  /// - Parameters:
  ///   - taken: all names there are.
  ///   - wanted: the new names of what stays, by the present ones.
  ///   - created: the names of what is made afterwards.
  ///   - temporary: the beginning of temporary names.
  init(taken: Set<String>, wanted: [String: String], created: Set<String>, temporary: String) {
    var taken = taken
    var number = 0
    func free() -> String {
      repeat { number += 1 } while taken.contains("\(temporary)\(number)")
      return "\(temporary)\(number)"
    }
    // The present names of what is to be renamed, by the wanted ones.
    var pending = wanted.filter { $0.key != $0.value }
    var original: [String: String] = [:]
    func move(_ from: String, to: String) {
      steps.append((from, to))
      taken.remove(from)
      taken.insert(to)
      let first = original.removeValue(forKey: from) ?? from
      original[to] = first
      present[first] = to
    }
    let staying = Set(wanted.keys)
    let needed = created.union(pending.values)
    for name in taken.sorted() where needed.contains(name) && !staying.contains(name) { move(name, to: free()) }
    while !pending.isEmpty {
      if let (from, to) = pending.sorted(by: { $0.key < $1.key }).first(where: { !taken.contains($0.value) }) {
        pending[from] = nil
        move(from, to: to)
      } else if let (from, to) = pending.min(by: { $0.key < $1.key }) {
        // Names that are exchanged.
        let name = free()
        pending[from] = nil
        pending[name] = to
        move(from, to: name)
      }
    }
  }

  func name(_ name: String) -> String { present[name] ?? name }
}
