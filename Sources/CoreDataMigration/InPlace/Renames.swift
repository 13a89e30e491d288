// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// An order in which names in one namespace, such as the columns of a table, can be replaced one after the other.
///
/// If a wanted name is still in use, its current holder first gets a temporary name.
struct Renames {
  /// The renaming steps in order. `from` is the name at the time of the step.
  private(set) var steps: [(from: String, to: String)] = []
  /// The final names by original name, without unchanged names.
  private(set) var present: [String: String] = [:]

  /// Determines the steps.
  ///
  /// - Parameters:
  ///   - taken: All existing names.
  ///   - wanted: The final names of everything that is kept, by current name.
  ///   - created: The names of everything that is created afterwards.
  ///   - temporary: The prefix of temporary names.
  init(taken: Set<String>, wanted: [String: String], created: Set<String>, temporary: String) {
    var taken = taken
    var number = 0
    func free() -> String {
      repeat { number += 1 } while taken.contains("\(temporary)\(number)")
      return "\(temporary)\(number)"
    }
    // The pending renames.
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
        // The remaining names form a cycle. Break it with a temporary name.
        let name = free()
        pending[from] = nil
        pending[name] = to
        move(from, to: name)
      }
    }
  }

  func name(_ name: String) -> String { present[name] ?? name }
}
