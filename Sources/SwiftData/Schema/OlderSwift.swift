// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#if compiler(<6.2)
/// What Swift 6.2 calls the types whose metatypes can be passed between isolation domains. Before it, those of all types
/// can.
public typealias SendableMetatype = Any
#endif
