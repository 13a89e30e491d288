// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The models of a `ResultsObserver` that have one name in its `sectionBy`.
public struct ResultsSection<Element: PersistentModel, SectionName: Hashable>: RandomAccessCollection, Identifiable {
  /// The name, which identifies the section.
  public var id: SectionName { name }
  /// The value that the models have in common.
  public let name: SectionName
  fileprivate var models: [Element]

  /// The position of the first model.
  public var startIndex: Int { models.startIndex }
  /// The position after the last model.
  public var endIndex: Int { models.endIndex }
  /// The model at a position.
  public subscript(position: Int) -> Element { models[position] }
}

/// The sections of a `ResultsObserver`.
public struct ResultsSectionCollection<Element: PersistentModel, SectionName: Hashable>: RandomAccessCollection {
  private var sections: [ResultsSection<Element, SectionName>] = []
  private var positions: [SectionName: Int] = [:]

  /// Groups models by a property. The sections are in the order of their first models.
  init(_ models: [Element], by path: KeyPath<Element, SectionName>?) {
    guard let path else { return }
    for model in models {
      let name = model[keyPath: path]
      if let position = positions[name] {
        sections[position].models.append(model)
      } else {
        positions[name] = sections.count
        sections.append(ResultsSection(name: name, models: [model]))
      }
    }
  }

  /// The position of the first section.
  public var startIndex: Int { sections.startIndex }
  /// The position after the last section.
  public var endIndex: Int { sections.endIndex }
  /// The section at a position.
  public subscript(position: Int) -> ResultsSection<Element, SectionName> { sections[position] }

  /// The names of the sections, in their order.
  public var sectionNames: [SectionName] { sections.map(\.name) }
  /// Returns whether there is a section with a name.
  public func contains(sectionName: SectionName) -> Bool { positions[sectionName] != nil }
  /// Returns the position of the section with a name; nil if there is none.
  public func index(ofSectionNamed name: SectionName) -> Int? { positions[name] }
  /// The section with a name; nil if there is none.
  public subscript(sectionName name: SectionName) -> ResultsSection<Element, SectionName>? {
    positions[name].map { sections[$0] }
  }
}
