// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

/// The steps of a key path with several components, such as `\Trip.owner?.name`.
///
/// A key path does not reveal its components, but its description joins theirs. A component that is computed, as those
/// of `@Model` are, is described by the address of its code or by its name.
struct KeyPathSteps {
  private let keyPath: AnyKeyPath
  private let names: any KeyPathNames

  init(_ keyPath: AnyKeyPath, _ names: any KeyPathNames) { (self.keyPath, self.names) = (keyPath, names) }

  /// Returns the components of a key path as text, without its root.
  static func components(_ keyPath: AnyKeyPath) -> Substring {
    let text = "\(keyPath)"
    let root = "\\\(type(of: keyPath).rootType)."
    return text.hasPrefix(root) ? text.dropFirst(root.count) : text[...]
  }

  /// Returns what the key path leads to.
  ///
  /// - Throws: `NotInStore` if a step is not stored.
  func term(from object: ObjectPath) throws -> Term {
    if names.property(keyPath, of: object.type) != nil { return try object.property(keyPath, names) }
    var rest = Self.components(keyPath)
    var term = Term.object(object)
    while !rest.isEmpty {
      rest = rest.drop { $0 == "." || $0 == "?" || $0 == "!" }
      if rest.isEmpty { break }
      let length: Int
      switch term {
      case .object(let object):
        guard let (step, text) = longest(MetadataNames.properties(of: object.type).keys, rest) else { throw unknown }
        (term, length) = (try object.property(step, names), text)
      case .composite(let composite):
        let name = rest.prefix { $0 != "." && $0 != "?" && $0 != "!" }
        guard let element = composite.elements.first(where: { $0.name == name }) else { throw unknown }
        (term, length) = (try composite.part(element), name.count)
      default: throw unknown
      }
      rest = rest.dropFirst(length)
    }
    return term
  }

  private func longest(
    _ steps: some Sequence<AnyKeyPath>, _ rest: Substring
  ) -> (step: AnyKeyPath, length: Int)? {
    steps.map { ($0, Self.components($0)) }.filter { rest.hasPrefix($0.1) }
      .max { $0.1.count < $1.1.count }.map { ($0.0, $0.1.count) }
  }

  private var unknown: NotInStore { NotInStore("\(keyPath) has a part that is not stored") }
}
