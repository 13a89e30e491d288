// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Apple's Core Data hands on Foundation; a file that imports only `CoreData` also sees our `NSExpression` and
// `NSComparisonPredicate` in place of Foundation's, which do nothing on this platform.
@_exported import Foundation
