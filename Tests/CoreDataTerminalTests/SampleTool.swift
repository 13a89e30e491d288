// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

import CoreDataTerminal

/// A small tool with every kind of argument.
let sampleTool = ToolSpecification(
  name: "coredata", version: "0.1", summary: "models, stores and migrations",
  groups: [
    GroupSpecification("model", summary: "look at models"), GroupSpecification("store", summary: "look at stores"),
  ],
  commands: [
    CommandSpecification(
      ["model", "show"], summary: "Entities, properties, rules and indexes.",
      positionals: [PositionalSpecification("MODEL", summary: "A model, or a store.")],
      options: [
        OptionSpecification("version", .text("V"), summary: "Which version (the current one)."),
        OptionSpecification("entity", .text("E"), repeats: true, summary: "Only this entity."),
      ]),
    CommandSpecification(
      ["model", "versions"], summary: "Versions in order.",
      positionals: [PositionalSpecification("MODEL", summary: "A model.")],
      options: [.flag("hashes", summary: "Show the version hashes.")]),
    CommandSpecification(
      ["model", "lint"], summary: "Findings.",
      discussion: "Looks at the newest step\nunless told otherwise.\n\nFindings have codes.",
      positionals: [PositionalSpecification("MODEL", .atLeastOne, summary: "Models.")],
      options: [
        OptionSpecification(
          "level", .pair("CODE", oneOf: ["off", "warn", "error"]), repeats: true, summary: "Weigh a finding."),
        OptionSpecification("limit", short: "n", .integer("N", minimum: 1), summary: "How many."),
      ]),
    CommandSpecification(
      ["store", "verify"], summary: "Every rule.",
      positionals: [
        PositionalSpecification("STORE", summary: "A store."),
        PositionalSpecification("MODEL", .optional, summary: "A model."),
      ]),
    CommandSpecification(
      ["explain"], summary: "What a code means.",
      positionals: [PositionalSpecification("CODE", .any, summary: "Codes, as DS102.")]),
  ])

/// The command that a correct line calls.
func parsed(_ line: String...) throws -> ParsedCommand? {
  guard case .command(let command) = try sampleTool.parse(line) else { return nil }
  return command
}
