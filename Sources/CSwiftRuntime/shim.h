// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#pragma once

#include <stdarg.h>
#include <stdint.h>

/// Retains a Swift object; returns NULL if it is being deallocated. Exported by the Swift runtime
/// (swift/Runtime/HeapObject.h). Loading a weak reference does the same, but needs a side table for the object.
void *_Nullable swift_tryRetain(void *_Nullable object);

/// A variable argument.
union opencoredata_argument {
  int64_t integer;
  double real;
  void *_Nullable pointer;
};

/// Reads variadic arguments, which Swift cannot do. `kinds` has a character for each: `i` for an int, `l` for a 64-bit
/// integer, `d` for a double, `p` for a pointer.
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
/// Defined by the target with PostgreSQL stores, if the program is linked with it.
void CoreDataRegisterPostgreSQLStores(void) __attribute__((weak));
#endif

/// Registers the store classes of the targets linked into the program.
static inline void CoreDataRegisterLinkedStores(void) {
#if defined(__ELF__)
  if (CoreDataRegisterPostgreSQLStores) CoreDataRegisterPostgreSQLStores();
#endif
}
