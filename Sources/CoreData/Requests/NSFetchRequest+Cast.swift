// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// An `as?` between requests: `Person.fetchRequest() =>? NSFetchRequest<Person>.self`.
infix operator =>? : CastingPrecedence
/// An `as!` between requests.
infix operator =>! : CastingPrecedence

/// Returns the request with another type of results; nil if the value is not a request.
///
/// Outside Apple's systems, Swift cannot cast `NSFetchRequest<any NSFetchRequestResult>` to `NSFetchRequest<Person>`.
/// The plug-in `CoreDataModels` generates this operator for `as?`. Both requests share their content: changing one
/// changes the other. An addition to Apple's API.
public func =>? <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result>? {
  if let request = request as? NSFetchRequest<Result> { return request }
  return (request as? any ContentSharing)?.shared(with: type)
}

/// Returns the request with another type of results, like `=>?`. Traps if the value is not a request.
public func =>! <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result> {
  if let result = request =>? type { return result }
  trap("\(request ?? "nil") is not a fetch request.")
}

/// A request of any result type.
private protocol ContentSharing {
  func shared<Result>(with type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result>
}

extension NSFetchRequest: ContentSharing {
  fileprivate func shared<Result>(with type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result> {
    NSFetchRequest<Result>(sharing: self)
  }
}
