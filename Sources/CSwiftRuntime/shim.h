// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#pragma once

/// Retains an object of Swift unless it is going away; NULL then. Exported by Swift's runtime (swift/Runtime/HeapObject.h),
/// and what loading a weak reference does, without the table beside the object that a weak reference needs.
void *_Nullable swift_tryRetain(void *_Nullable object);
