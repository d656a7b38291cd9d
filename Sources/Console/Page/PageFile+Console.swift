import PageParts

extension PageFile {
    /// The console's page: files of its own, and those of every page.
    static let console =
        shared + [
            PageFile(path: "/", body: PackageResources.page_html),
            PageFile(path: "/page/style.css", body: PackageResources.style_css),
            PageFile(path: "/page/main.js", body: PackageResources.main_js),
            PageFile(path: "/page/charts.js", body: PackageResources.charts_js),
            PageFile(path: "/page/history.js", body: PackageResources.history_js),
            PageFile(path: "/page/runbook.js", body: PackageResources.runbook_js),
            PageFile(path: "/page/tables.js", body: PackageResources.tables_js),
            PageFile(path: "/page/units.js", body: PackageResources.units_js),
        ]
}
