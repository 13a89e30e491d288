// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

#include <sqlite3.h>

// Swift cannot call variadic C functions. These two arguments are those of every option that is a switch.
static inline int opencoredata_sqlite3_db_switch(sqlite3 *database, int option, int value) {
  return sqlite3_db_config(database, option, value, (int *)0);
}
