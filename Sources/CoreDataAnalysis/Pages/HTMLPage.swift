// OpenCoreData
// SPDX-License-Identifier: Apache-2.0

/// A page in a single file. It loads nothing else, and is readable without its script, on light and dark backgrounds.
package struct HTMLPage {
  private let title: String
  private let isServed: Bool
  var body = ""

  /// - Parameter isServed: whether a server sends the page, with its own rules for what may be loaded. No script runs in
  ///   such a page.
  package init(title: String, isServed: Bool = false) {
    (self.title, self.isServed) = (title, isServed)
  }

  // MARK: Content

  /// Adds a heading; level 1 is the largest.
  package mutating func heading(_ level: Int, _ text: String, id: String? = nil) {
    let place = id.map { " id=\"\(MarkupText.escaped($0))\"" } ?? ""
    body += "<h\(level)\(place)>\(MarkupText.escaped(text))</h\(level)>\n"
  }

  package mutating func paragraph(_ text: String, style: String? = nil) {
    body += "<p\(Self.attribute(style))>\(MarkupText.escaped(text))</p>\n"
  }

  /// Adds a picture, which scrolls if it is wider than the page.
  package mutating func picture(_ svg: String) {
    body += "<div class=\"scroll\">\(svg)</div>\n"
  }

  /// A cell of a table.
  package struct Cell: ExpressibleByStringLiteral {
    let text: String
    fileprivate let isNumber: Bool
    fileprivate let style: String?
    fileprivate let link: String?
    private var parts: [Part] = []

    /// - Parameters:
    ///   - style: one of `good`, `warn`, `bad`, `dim` and `code`; nil for plain text.
    ///   - link: the identifier of an element in the page.
    package init(_ text: String, isNumber: Bool = false, style: String? = nil, link: String? = nil) {
      (self.text, self.isNumber, self.style, self.link) = (text, isNumber, style, link)
    }

    package init(stringLiteral value: String) { self.init(value) }

    /// Creates a cell of text, links and pictures.
    package init(_ parts: [Part], isNumber: Bool = false, style: String? = nil) {
      self.init("", isNumber: isNumber, style: style)
      self.parts = parts
    }

    fileprivate func html(_ tag: String) -> String {
      let classes = [isNumber ? "number" : nil, style].compactMap { $0 }.joined(separator: " ")
      let content = parts.isEmpty ? MarkupText.escaped(text) : parts.map(\.html).joined()
      let linked = link.map { "<a href=\"#\(MarkupText.escaped($0))\">\(content)</a>" } ?? content
      return "<\(tag)\(HTMLPage.attribute(classes.isEmpty ? nil : classes))>\(linked)</\(tag)>"
    }
  }

  /// Adds a table.
  ///
  /// - Parameters:
  ///   - isSearched: whether a search hides rows that do not match.
  ///   - style: `large` for large pictures; nil for small ones.
  package mutating func table(_ titles: [Cell], _ rows: [[Cell]], isSearched: Bool = false, style: String? = nil) {
    let classes = ["scroll", style].compactMap { $0 }.joined(separator: " ")
    body +=
      "<div class=\"\(classes)\"><table>\n<thead><tr>\(titles.map { $0.html("th") }.joined())</tr></thead>\n<tbody>\n"
    for row in rows {
      body += "<tr\(isSearched ? " data-find=\"\"" : "")>\(row.map { $0.html("td") }.joined())</tr>\n"
    }
    body += "</tbody>\n</table></div>\n"
  }

  /// Adds content that is shown when its title is clicked.
  package mutating func fold(
    _ title: String, id: String? = nil, isOpen: Bool = false, isSearched: Bool = false,
    _ content: (inout HTMLPage) -> Void
  ) {
    let place = id.map { " id=\"\(MarkupText.escaped($0))\"" } ?? ""
    let search = isSearched ? " data-group=\"\"" : ""
    body += "<details\(place)\(search)\(isOpen ? " open=\"\"" : "")>\n<summary>\(MarkupText.escaped(title))</summary>\n"
    content(&self)
    body += "</details>\n"
  }

  package mutating func list(_ items: [String]) {
    body += "<ul>\n" + items.map { "<li>\(MarkupText.escaped($0))</li>\n" }.joined() + "</ul>\n"
  }

  /// Adds a search field, which is visible only if scripts run.
  ///
  /// - Parameter note: a sentence below the field.
  package mutating func searchField(_ prompt: String, note: String? = nil) {
    let text = MarkupText.escaped(prompt)
    let note = note.map { "<small>\(MarkupText.escaped($0))</small>" } ?? ""
    body +=
      "<p id=\"search\" hidden=\"\"><input type=\"search\" placeholder=\"\(text)\" aria-label=\"\(text)\"/> "
      + "<span></span>\(note)</p>\n"
  }

  static func attribute(_ style: String?) -> String {
    style.map { " class=\"\(MarkupText.escaped($0))\"" } ?? ""
  }

  // MARK: The page

  /// The contents of the file.
  package var html: String {
    """
    <!DOCTYPE html>
    <html lang="en">
    <head>
    <meta charset="utf-8"/>
    <meta name="viewport" content="width=device-width, initial-scale=1"/>
    <meta name="color-scheme" content="light dark"/>
    \(isServed ? "" : Self.policy)<title>\(MarkupText.escaped(title))</title>
    <style>
    \(GraphStyle.colors)\(GraphStyle.rules)\(Self.rules)\(isServed ? Self.servedRules : "")</style>
    </head>
    <body>
    \(body)\(body.contains("id=\"search\"") ? Self.script : "")</body>
    </html>

    """
  }

  private static let policy = """
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'"/>

    """

  private static let rules = """
    body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", sans-serif; color: var(--text); \
    background: var(--ground); margin: 0 auto; max-width: 75rem; padding: 1.5rem; }
    h1 { font-size: 1.6rem; margin: 0 0 .3rem; }
    h2 { font-size: 1.25rem; margin: 2rem 0 .5rem; }
    h3 { font-size: 1.05rem; margin: 1.2rem 0 .3rem; }
    p { margin: .4rem 0; }
    h1, h2, h3, p, li, summary { overflow-wrap: anywhere; }
    a { color: var(--accent); }
    table { border-collapse: collapse; font-size: .9rem; }
    th, td { text-align: left; vertical-align: top; padding: .25rem .8rem .25rem 0; border-bottom: 1px solid var(--edge); \
    overflow-wrap: break-word; }
    td:nth-child(2):last-child { overflow-wrap: anywhere; }
    th { color: var(--dim); font-weight: 600; white-space: nowrap; }
    td:first-child { min-width: 6rem; }
    .number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
    .scroll { overflow-x: auto; margin: .6rem 0; }
    .dim { color: var(--dim); }
    .code { font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .85em; }
    td.good, p.good { color: var(--good); }
    td.warn, p.warn { color: var(--warn); }
    td.bad, p.bad { color: var(--bad); font-weight: 600; }
    details { border: 1px solid var(--edge); border-radius: 6px; padding: .5rem .9rem; margin: .6rem 0; }
    details details { background: var(--box); }
    summary { cursor: pointer; font-weight: 600; }
    #search input { font: inherit; width: min(28rem, 100%); padding: .35rem .6rem; color: inherit; \
    background: var(--box); border: 1px solid var(--line); border-radius: 6px; }
    #search small { display: block; color: var(--dim); }
    @media (max-width: 30rem) { td:first-child { min-width: 0; } td:last-child:not(.number) { min-width: 9rem; } \
    th { white-space: normal; } details details td:last-child:not(.number) { min-width: 4rem; } }
    @media print { details { border: 0; padding: 0; } #search { display: none; } }

    """

  /// Hides rows, and groups of rows, that do not contain the text of the field; `#find=text` in the URL starts a
  /// search. The page is well-formed XML, so the script contains no characters with a meaning in XML.
  private static let script = """
    <script>
    (function () {
      var place = document.getElementById("search"), field = place.querySelector("input");
      var count = place.querySelector("span"), groups = document.querySelectorAll("[data-group]");
      place.hidden = false;
      groups.forEach(function (group) { group.wasOpen = group.open; });
      function has(node, text) { return node.textContent.toLowerCase().indexOf(text) !== -1; }
      function search() {
        var text = field.value.trim().toLowerCase(), isAll = text === "", found = 0;
        document.querySelectorAll("[data-find]").forEach(function (row) {
          var near = row.closest("[data-group]");
          var isFound = isAll || has(row, text) || (near !== null ? has(near.querySelector("summary"), text) : false);
          row.hidden = !isFound;
          if (isFound) { found += 1; }
        });
        Array.prototype.slice.call(groups).reverse().forEach(function (group) {
          var any = group.querySelector("[data-find]:not([hidden])") !== null;
          group.hidden = !(isAll || any);
          group.open = isAll ? group.wasOpen : any;
        });
        count.textContent = isAll ? "" : found + (found === 1 ? " row" : " rows");
      }
      field.addEventListener("input", search);
      if (location.hash.indexOf("#find=") === 0) {
        field.value = decodeURIComponent(location.hash.slice(6));
        search();
      }
    })();
    </script>

    """
}
