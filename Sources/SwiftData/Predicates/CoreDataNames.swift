// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreData

// This module re-exports Foundation, whose classes of these names do nothing on Linux.
typealias NSExpression = CoreData.NSExpression
typealias NSComparisonPredicate = CoreData.NSComparisonPredicate
