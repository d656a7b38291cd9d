/// A file of a page, embedded in the program: one executable, nothing to install beside it.
package struct PageFile: Sendable {
    /// As in a request, with the slash.
    package let path: String
    package let body: [UInt8]

    package init(path: String, body: [UInt8]) {
        self.path = path
        self.body = body
    }

    /// The media type, by the end of the path; `/` is the document.
    package var contentType: String {
        if path.hasSuffix(".css") { return "text/css; charset=utf-8" }
        return path.hasSuffix(".js") ? "text/javascript; charset=utf-8" : "text/html; charset=utf-8"
    }

    /// Files of every page: looks, live updates, tables, charts.
    package static let shared = [
        PageFile(path: "/page/base.css", body: PackageResources.base_css),
        PageFile(path: "/page/events.js", body: PackageResources.events_js),
        PageFile(path: "/page/line.js", body: PackageResources.line_js),
        PageFile(path: "/page/text.js", body: PackageResources.text_js),
        PageFile(path: "/page/theme.js", body: PackageResources.theme_js),
    ]
}
