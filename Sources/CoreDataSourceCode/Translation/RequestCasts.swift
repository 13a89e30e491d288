// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// The source of the operators that a port uses for casts between requests. It is for Apple's systems, which do not
/// have them.
package enum RequestCasts {
  package static let text = """
    #if canImport(ObjectiveC)
    import CoreData

    // Casts between requests, which OpenCoreData has for systems where Swift cannot cast them.
    infix operator =>? : CastingPrecedence
    infix operator =>! : CastingPrecedence

    func =>? <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result>? {
        request as? NSFetchRequest<Result>
    }

    func =>! <Result>(request: Any?, type: NSFetchRequest<Result>.Type) -> NSFetchRequest<Result> {
        request as! NSFetchRequest<Result>
    }
    #endif

    """
}
