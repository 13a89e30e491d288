// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// What Core Data makes of indexes when it compiles and loads a model.
///
/// Observed in compiled models and model caches: an index over one property also marks the property as indexed, one
/// over several is repeated as a compound index, and every indexed property gets an index of its own name before the
/// declared ones. Documents hold only what was declared.
extension EntityDocument {
  /// The names of the attributes that Core Data treats as indexed.
  package var indexedAttributeNames: [String] {
    attributes.filter { attribute in
      attribute.isIndexed || indexes.contains { $0.elements.map(\.propertyName) == [attribute.name] }
    }.map(\.name)
  }

  /// All indexes of a loaded model, and so of a store: those which indexed attributes imply, then the declared ones.
  package var effectiveIndexes: [FetchIndexDocument] {
    let declared = Set(indexes.map(\.name))
    let implied = indexedAttributeNames.filter { !declared.contains($0) }.map {
      FetchIndexDocument(name: $0, elements: [FetchIndexElementDocument(propertyName: $0)])
    }
    return implied + indexes
  }

  /// The compound indexes of a compiled model: the declared ones, and one for every index of several properties.
  package var effectiveCompoundIndexes: [[String]] {
    var result = compoundIndexes
    for index in indexes where index.elements.count > 1 {
      let names = index.elements.map(\.propertyName)
      if !result.contains(names) { result.append(names) }
    }
    return result
  }

  /// Takes away what a compiled model or a model cache repeats, so that the declared indexes remain.
  ///
  /// - Parameter hasImplied: whether indexes that follow from indexed attributes stand among the declared ones, as they do in
  ///   a model cache.
  package mutating func removeImpliedIndexes(hasImplied: Bool) {
    let indexed = hasImplied ? Set(attributes.filter(\.isIndexed).map(\.name)) : []
    indexes.removeAll { index in
      indexed.contains(index.name) && index.partialIndexPredicate == nil
        && index.elements == [FetchIndexElementDocument(propertyName: index.name)]
    }
    let single = Set(indexes.filter { $0.elements.count == 1 }.map { $0.elements[0].propertyName })
    for position in attributes.indices where single.contains(attributes[position].name) {
      attributes[position].isIndexed = false
    }
    let compound = Set(indexes.map { $0.elements.map(\.propertyName) })
    compoundIndexes.removeAll(where: compound.contains)
  }
}
