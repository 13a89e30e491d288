// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// `@Model` writes code that needs these modules, whatever the file imports.
@_exported import Foundation
@_exported import Observation
