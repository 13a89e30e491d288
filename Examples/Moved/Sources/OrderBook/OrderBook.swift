// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

// A target has a source of its own beside those that the plug-in translates.
