// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Like Apple's Core Data, this module re-exports Foundation. A file that imports only `CoreData` sees our
// `NSExpression` and `NSComparisonPredicate` instead of Foundation's, which do nothing on Linux.
@_exported import Foundation
