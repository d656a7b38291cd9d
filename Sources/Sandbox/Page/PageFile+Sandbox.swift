import PageParts

extension PageFile {
    /// The sandbox's page: files of its own, and those of every page.
    static let sandbox =
        shared + [
            PageFile(path: "/", body: PackageResources.page_html),
            PageFile(path: "/page/style.css", body: PackageResources.style_css),
            PageFile(path: "/page/main.js", body: PackageResources.main_js),
            PageFile(path: "/page/colours.js", body: PackageResources.colours_js),
            faultList,
            PageFile(path: "/page/faults.js", body: PackageResources.faults_js),
            PageFile(path: "/page/fault-request.js", body: PackageResources.fault_request_js),
            PageFile(path: "/page/field.js", body: PackageResources.field_js),
            PageFile(path: "/page/flashes.js", body: PackageResources.flashes_js),
            PageFile(path: "/page/ground.js", body: PackageResources.ground_js),
            PageFile(path: "/page/navigation.js", body: PackageResources.navigation_js),
            PageFile(path: "/page/notification.js", body: PackageResources.notification_js),
            PageFile(path: "/page/numbers.js", body: PackageResources.numbers_js),
            PageFile(path: "/page/view.js", body: PackageResources.view_js),
        ]

    static let faultList = PageFile(path: "/page/fault-list.js", body: PackageResources.fault_list_js)
}
