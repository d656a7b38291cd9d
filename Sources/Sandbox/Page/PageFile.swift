/// The resources of the page, as they are embedded in the program: one executable, nothing to install beside it, and
/// nothing that the page takes from anywhere else.
enum PageFile: String, CaseIterable {
    case document = "/"
    case style = "/page/style.css"
    case main = "/page/main.js"
    case colours = "/page/colours.js"
    case events = "/page/events.js"
    case faults = "/page/faults.js"
    case faultList = "/page/fault-list.js"
    case faultRequest = "/page/fault-request.js"
    case field = "/page/field.js"
    case flashes = "/page/flashes.js"
    case ground = "/page/ground.js"
    case navigation = "/page/navigation.js"
    case numbers = "/page/numbers.js"
    case view = "/page/view.js"

    /// The file of this path, or `nil` when there is none.
    init?(path: String) {
        self.init(rawValue: path)
    }

    /// The media type.
    var contentType: String {
        switch self {
        case .document: "text/html; charset=utf-8"
        case .style: "text/css; charset=utf-8"
        default: "text/javascript; charset=utf-8"
        }
    }

    var body: [UInt8] {
        switch self {
        case .document: PackageResources.page_html
        case .style: PackageResources.style_css
        case .main: PackageResources.main_js
        case .colours: PackageResources.colours_js
        case .events: PackageResources.events_js
        case .faults: PackageResources.faults_js
        case .faultList: PackageResources.fault_list_js
        case .faultRequest: PackageResources.fault_request_js
        case .field: PackageResources.field_js
        case .flashes: PackageResources.flashes_js
        case .ground: PackageResources.ground_js
        case .navigation: PackageResources.navigation_js
        case .numbers: PackageResources.numbers_js
        case .view: PackageResources.view_js
        }
    }
}
