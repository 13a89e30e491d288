// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// `@Model` writes code that needs these modules, whatever the file imports.
@_exported import Foundation
@_exported import Observation

// Foundation has these types on Apple's systems: `@Attribute(.transformable(by:))` and `ModelContext.undoManager` need
// them.
@_exported import class CoreData.NSSecureUnarchiveFromDataTransformer
@_exported import typealias CoreData.NSValueTransformerName
@_exported import class CoreData.UndoManager
@_exported import class CoreData.ValueTransformer
