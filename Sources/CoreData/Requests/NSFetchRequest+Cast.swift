// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataMistakes
import Foundation

/// `as?` between requests: `Person.fetchRequest() =>? NSFetchRequest<Person>.self`.
infix operator =>? : CastingPrecedence
/// `as!` between requests.
infix operator =>! : CastingPrecedence

/// Returns the request with another type of results; nil for anything but a request.
///
/// Outside Apple's systems Swift cannot cast `NSFetchRequest<any NSFetchRequestResult>` to `NSFetchRequest<Person>`. The
/// plug-in `CoreDataModels` writes this operator for `as?`. Both requests have the same content: a change of one is one of the
/// other. An addition to Apple's API.
public func =>? <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result>? {
  if let request = request as? NSFetchRequest<Result> { return request }
  return (request as? any ContentSharing)?.shared(with: type)
}

/// Returns the request with another type of results, as `=>?`; anything but a request stops the program.
public func =>! <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result> {
  if let result = request =>? type { return result }
  trap("\(request ?? "nil") is no fetch request.")
}

/// A request, whatever its results are.
private protocol ContentSharing {
  func shared<Result>(with type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result>
}

extension NSFetchRequest: ContentSharing {
  fileprivate func shared<Result>(with type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result> {
    NSFetchRequest<Result>(sharing: self)
  }
}
