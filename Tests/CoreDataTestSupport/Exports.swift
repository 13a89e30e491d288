// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// Fillings, images of stores and the reference of migrations, which tests of every target use.
@_exported import CoreDataTesting
