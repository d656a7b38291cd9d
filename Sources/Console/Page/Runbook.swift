import PageParts

/// The runbook as the console serves it: its beginning at `/runbook`, the entry of an alert at `/runbook/<alert>`.
///
/// Its files are links to those of Deploy. So the program has them inside: they can be read without a network, and in
/// images that leave the documents of packages out.
enum Runbook {
    /// The texts by path. That of an entry reaches from its heading to the next one.
    static let texts: [String: String] = {
        let files = [
            PackageResources.runbook_processes_txt, PackageResources.runbook_records_txt,
            PackageResources.runbook_sending_txt, PackageResources.runbook_stores_txt,
            PackageResources.runbook_tokens_txt, PackageResources.runbook_apps_txt,
        ]
        var texts = ["/runbook": String(decoding: PackageResources.runbook_txt, as: UTF8.self)]
        for file in files {
            // The heading of the file itself is no entry.
            for entry in String(decoding: file, as: UTF8.self).split(separator: "\n## ").dropFirst() {
                texts["/runbook/\(entry.prefix { !$0.isNewline })"] = String(entry)
            }
        }
        return texts
    }()

    /// The page with a text; nil: there is none at this path.
    static func page(at path: String) -> PageResponse? {
        guard let text = texts[path] else { return nil }
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
        let page = String(decoding: PackageResources.runbook_html, as: UTF8.self).replacing("@TEXT@", with: escaped)
        return PageResponse(status: 200, body: Array(page.utf8), contentType: "text/html; charset=utf-8")
    }
}
