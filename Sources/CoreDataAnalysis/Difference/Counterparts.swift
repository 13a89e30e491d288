// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// Which elements of two lists are the same one: those that share a renaming identifier, then those that share a name.
struct Counterparts<Element> {
  private(set) var pairs: [(old: Element, new: Element)] = []
  private(set) var removed: [Element] = []
  private(set) var added: [Element] = []

  init(
    _ old: [Element], _ new: [Element], name: (Element) -> String, identifier: (Element) -> String?
  ) {
    var free = old
    var rest: [Element] = []
    func take(_ element: Element, where matches: (Element) -> Bool) -> Bool {
      guard let position = free.firstIndex(where: matches) else { return false }
      pairs.append((free.remove(at: position), element))
      return true
    }
    // A declared identifier goes before a name, so that a name which was given to something new does not win.
    let declaredFirst = new.filter { identifier($0) != nil } + new.filter { identifier($0) == nil }
    for element in declaredFirst {
      let wanted = identifier(element) ?? name(element)
      if !take(element, where: { identifier($0) ?? name($0) == wanted }) { rest.append(element) }
    }
    for element in rest where !take(element, where: { name($0) == name(element) }) { added.append(element) }
    removed = free
  }
}
