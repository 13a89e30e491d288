// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdarg.h>
#include <stdint.h>

/// Retains an object of Swift unless it is going away; NULL then. Exported by Swift's runtime (swift/Runtime/HeapObject.h),
/// and what loading a weak reference does, without the table beside the object that a weak reference needs.
void *_Nullable swift_tryRetain(void *_Nullable object);

/// A variable argument.
union opencoredata_argument {
  int64_t integer;
  double real;
  void *_Nullable pointer;
};

/// Reads variable arguments, which Swift cannot. For each there is a character: `i` for an int, `l` for an integer of 64 bits,
/// `d` for a double, `p` for a pointer.
static inline void opencoredata_read_arguments(
    va_list arguments, const char *_Nonnull kinds, union opencoredata_argument *_Nonnull values) {
  for (; *kinds; kinds++, values++) {
    switch (*kinds) {
      case 'd': values->real = va_arg(arguments, double); break;
      case 'p': values->pointer = va_arg(arguments, void *); break;
      case 'l': values->integer = va_arg(arguments, int64_t); break;
      default: values->integer = va_arg(arguments, int); break;
    }
  }
}

#if defined(__ELF__)
/// Defined by the target with stores in PostgreSQL, if the program is linked with it.
void CoreDataRegisterPostgreSQLStores(void) __attribute__((weak));
#endif

/// Has the targets that are linked into the program register their classes of stores.
static inline void CoreDataRegisterLinkedStores(void) {
#if defined(__ELF__)
  if (CoreDataRegisterPostgreSQLStores) CoreDataRegisterPostgreSQLStores();
#endif
}
