# OpenCoreData
# SPDX-License-Identifier: Apache-2.0
#
# Writes each Swift block of the pages given into a file of its own below `folder`, so that all files compile as one module, and
# manifests as another. `check.sh` describes what a page can say before a block. Of the articles of the guides, only fragments
# of manifests are written. The last line printed is the number of blocks.

function fail(text) {
  printf "%s: %s\n", page == FILENAME ? page ":" FNR : page, text > "/dev/stderr"
  failed = 1
}

function endPage() {
  if (inside || commented) fail("A block or a context has no end on this page.")
  if (context != "" && !inside) fail("The last context belongs to no Swift block.")
}

# The start of what surrounds a fragment of a manifest, by its first line.
function manifestOpening(first) {
  if (first ~ /^\.product\(/) return "let _: [Target.Dependency] = ["
  if (first ~ /^\.package\(/) return "let _: [Package.Dependency] = ["
  if (first ~ /^\.(testTarget|target|executableTarget)\(/) return "let _: [Target] = ["
  if (first ~ /^(dependencies|targets|products):/) return "let _ = Package(name: \"Shop\","
  return ""
}

function writeBlock(    name, opening, i, file, declares, outside, position, head) {
  blocks++
  name = "Block" blocks
  position = "#sourceLocation(file: \"" FILENAME "\", line: " first ")\n"
  opening = manifestOpening(code[1])
  for (i = 1; i <= count; i++) {
    if (code[i] == "import PackageDescription") opening = "whole"
    # A struct can hold declarations, a function whatever else a block has.
    if (code[i] ~ /^(@|func |final class |class |struct |enum |typealias )/ && code[i] !~ /^@testable/) declares = 1
  }
  if (opening == "" && FILENAME ~ /\.docc\//) {
    blocks--
    return
  }
  if (opening != "") {
    file = folder "/manifests/" name ".swift"
    if (opening == "whole") {
      printf "%s", position > file
    } else {
      # The position cannot stand inside an expression; the line above the block is that of the opening.
      print "import PackageDescription\nfunc " tolower(name) "() {" > file
      printf "#sourceLocation(file: \"%s\", line: %d)\n%s\n", FILENAME, first - 1, opening > file
    }
    for (i = 1; i <= count; i++) {
      # A package of the name is in every manifest.
      sub(/^let package = /, "nonisolated(unsafe) let package" blocks " = ", code[i])
      print code[i] > file
    }
    if (opening != "whole") print (opening ~ /\[$/ ? "]" : ")") > file
    print "#sourceLocation()" > file
    if (opening != "whole") print "}" > file
    close(file)
    return
  }

  file = folder "/code/" name ".swift"
  head = "import CoreData\nimport Foundation\n"
  for (i = 1; i <= count; i++) {
    if (code[i] ~ /^(@testable )?import /) {
      # The context stands for the program's own module.
      if (code[i] !~ /^@testable/) head = head code[i] "\n"
      code[i] = ""
    }
  }
  printf "%s", head > file
  opening = declares ? "struct " name " {\n" : "func " tolower(name) "() async throws {\n"
  # The macros of models do not work in functions.
  outside = !declares && context ~ /(^|\n)@Model/
  printf "%s", (outside ? "extension " name "Context {\n" : opening) > file
  if (context != "") printf "#sourceLocation(file: \"%s\", line: %d)\n%s", FILENAME, contextLine, context > file
  if (outside) printf "#sourceLocation()\nstatic %s", opening > file
  printf "%s", position > file
  for (i = 1; i <= count; i++) print code[i] > file
  print "#sourceLocation()\n}" (outside ? "\n}\nenum " name "Context {}" : "") > file
  close(file)
}

FNR == 1 {
  if (page != "") endPage()
  page = FILENAME
  inside = commented = 0
  context = ""
}
!inside && /^<!-- swift$/ {
  commented = 1
  context = ""
  contextLine = FNR + 1
  next
}
commented && /^-->$/ { commented = 0; next }
commented { context = context $0 "\n"; next }
!inside && /^ *```swift/ {
  if ($0 != "```swift") fail("A Swift block must begin with ```swift and nothing else, at the start of a line.")
  inside = 1
  count = 0
  first = FNR + 1
  next
}
!inside && /^```/ { inside = 2; next }
inside && /^```$/ {
  if (inside == 1) writeBlock()
  inside = 0
  context = ""
  next
}
inside == 1 { code[++count] = $0; next }
!inside && !/^ *$/ && context != "" {
  fail("The context above belongs to no Swift block.")
  context = ""
}
END {
  endPage()
  if (failed) exit 1
  print blocks + 0
}
