// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import CoreDataModelFiles
import CoreDataPredicates
import Foundation

extension NSManagedObjectModel {
  /// All fetch request templates by name. Changing a returned request does not change the model.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    templates.mapValues { $0.request(in: self) }
  }

  /// Returns the fetch request template with a name. Changing the request does not change the model.
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    templates[name]?.request(in: self)
  }

  /// Sets a fetch request template, or removes it with nil. Traps for a request with a block predicate or a comparator.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    willEdit("setFetchRequestTemplate(_:forName:)")
    templates[name] = fetchRequestTemplate.map { CopiedRequest(name: name, $0) }
  }

  /// Returns a request created from a template, with values for the variables of its predicate.
  ///
  /// - Parameters:
  ///   - name: the template's name.
  ///   - variables: the values of all variables, by name without the dollar sign.
  /// - Returns: nil if there is no such template.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any]
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    guard let request = fetchRequestTemplate(forName: name) else { return nil }
    request.predicate = request.predicate?.withSubstitutionVariables(variables)
    return request
  }
}

extension NSFetchedPropertyDescription {
  /// The request whose result is the property's value. In its predicate, `$FETCH_SOURCE` is the object. Changing the
  /// returned request does not change the property. Setting it traps for a request with a block predicate or a
  /// comparator.
  ///
  /// Differs from Apple: subclasses cannot override it.
  public var fetchRequest: NSFetchRequest<any NSFetchRequestResult>? {
    get { request?.request(in: owningEntity?.owningModel) }
    set { request = newValue.map { CopiedRequest(name: name, $0) } }
  }
}

extension StoredRequest {
  /// Returns a new request, with the entity of a model.
  fileprivate func request(in model: NSManagedObjectModel?) -> NSFetchRequest<any NSFetchRequestResult> {
    let request = NSFetchRequest<any NSFetchRequestResult>()
    request.specification = (self as? CopiedRequest)?.specification ?? FetchSpecification(document)
    request.specification.entity = model?.entitiesByName[document.entityName]
    return request
  }
}

extension FetchSpecification {
  /// Reads the document of a request in a model file.
  fileprivate init(_ document: FetchRequestDocument) {
    entityName = document.entityName
    predicate = document.predicate.map { NSPredicate.make($0) }
    if !document.sortKeys.isEmpty {
      sortDescriptors = document.sortKeys.map { NSSortDescriptor(key: $0.keyPath, ascending: $0.ascending) }
    }
    fetchLimit = document.fetchLimit
    fetchBatchSize = document.fetchBatchSize
    resultType = NSFetchRequestResultType(rawValue: document.resultType)
    includesSubentities = document.includesSubentities
    includesPropertyValues = document.includesPropertyValues
    returnsObjectsAsFaults = document.returnsObjectsAsFaults
    returnsDistinctResults = document.returnsDistinctResults
    includesPendingChanges = document.includesPendingChanges
  }
}

/// A copy of a request that code has added to a model.
private struct CopiedRequest: StoredRequest {
  let document: FetchRequestDocument
  let specification: FetchSpecification

  /// Copies a request. Traps for a block predicate or a comparator.
  init(name: String, _ request: NSFetchRequest<any NSFetchRequestResult>) {
    var specification = request.specification
    specification.entity = nil
    self.specification = specification
    var document = FetchRequestDocument(name: name, entityName: specification.entityName ?? "")
    document.predicate = specification.predicate.map { PredicateSyntax($0, in: "The request '\(name)'") }
    document.sortKeys = (specification.sortDescriptors ?? []).map { descriptor in
      do {
        let key = try SortKey(descriptor)
        return SortKeyDocument(keyPath: key.keyPath, ascending: key.isAscending)
      } catch {
        trap("The request '\(name)' cannot be part of a model. \(error)")
      }
    }
    document.fetchLimit = specification.fetchLimit
    document.fetchBatchSize = specification.fetchBatchSize
    document.resultType = specification.resultType.rawValue
    document.includesSubentities = specification.includesSubentities
    document.includesPropertyValues = specification.includesPropertyValues
    document.returnsObjectsAsFaults = specification.returnsObjectsAsFaults
    document.returnsDistinctResults = specification.returnsDistinctResults
    document.includesPendingChanges = specification.includesPendingChanges
    self.document = document
  }
}
