// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataModelFiles
import Foundation

extension NSManagedObjectModel {
  /// All fetch request templates by name. Changing one of the requests does not change the model.
  public var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] {
    templates.mapValues { $0.request(in: self) }
  }

  /// The fetch request template of a name. Changing the request does not change the model.
  public func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
    templates[name]?.request(in: self)
  }

  /// Adds a fetch request template, or removes it when given nil. Traps for a request with a closure as predicate or order.
  public func setFetchRequestTemplate(
    _ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String
  ) {
    willEdit("setFetchRequestTemplate(_:forName:)")
    templates[name] = fetchRequestTemplate.map { StoredRequest(name: name, $0) }
  }

  /// A request made of a template, with values for the variables of its predicate.
  ///
  /// - Parameter variables: values for all variables, by name without the dollar sign.
  /// - Returns: nil when there is no template of that name.
  public func fetchRequestFromTemplate(
    withName name: String, substitutionVariables variables: [String: Any]
  ) -> NSFetchRequest<any NSFetchRequestResult>? {
    guard let request = fetchRequestTemplate(forName: name) else { return nil }
    request.predicate = request.predicate?.withSubstitutionVariables(variables)
    return request
  }
}
