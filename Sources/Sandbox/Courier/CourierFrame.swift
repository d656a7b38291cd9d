/// The courier's protocol [ours]: what a virtual device and the push service say to each other, inside TLS with the
/// device's certificate.
///
/// A frame is a type (1 byte), the length of its data (2 bytes, big-endian, at most ``limitBytes`` with the header) and
/// the data. Fields that are followed by others have their length (1 byte) in front; the last one takes the rest.
///
/// | type | name | direction | data | answer |
/// |---|---|---|---|---|
/// | 01 | register | device → service | topic | token |
/// | 02 | present | device → service | token | presented |
/// | 03 | unregister | device → service | topic | unregistered |
/// | 04 | restore | device → service | topic | token, another one |
/// | 05 | wipe | device → service | topic | token, another one |
/// | 81 | token | service → device | length, topic · token | |
/// | 82 | presented | service → device | topic | |
/// | 83 | notification | service → device | see below | |
/// | 84 | refused | service → device | ``CourierRefusal/Code`` (1) · text | |
/// | 85 | unregistered | service → device | topic | |
///
/// A notification: length, topic · length, token · expiration (4) · priority (1) · length, push type · length, collapse
/// id · payload. Push type and collapse id are empty for one of the binary interface, and the latter for one that came
/// without.
///
/// Topics are UTF-8, 1 to 255 bytes; tokens 1 to 255 bytes; numbers as in the binary interface of providers. Requests
/// are answered in their order; notifications come in between. After a refusal that ends the connection nothing
/// follows.
enum CourierFrame {
    /// Type and length.
    static let headerBytes = 3
    /// The longest frame, header included.
    static let limitBytes = 8 * 1024

    /// The types, as in the table.
    enum Kind: UInt8, CaseIterable {
        case register = 0x01
        case present = 0x02
        case unregister = 0x03
        case restore = 0x04
        case wipe = 0x05
        case token = 0x81
        case presented = 0x82
        case notification = 0x83
        case refused = 0x84
        case unregistered = 0x85
    }
}

/// A request of a device.
enum CourierRequest: Equatable, Sendable {
    /// The app of a topic is there, newly installed or just launched: which token has it?
    case register(topic: String)
    /// A token of this device: its app is to get what comes for it [13].
    case present(token: [UInt8])
    /// The app was uninstalled.
    case unregister(topic: String)
    /// The device's content came from another device: the app is to have another token.
    case restore(topic: String)
    /// The device was wiped: the app is to have another token.
    case wipe(topic: String)
}

/// A message of the service.
enum CourierMessage: Equatable, Sendable {
    case token(topic: String, token: [UInt8])
    case presented(topic: String)
    case notification(CourierNotification)
    case refused(CourierRefusal)
    case unregistered(topic: String)
}

/// A notification that arrives at a device.
struct CourierNotification: Equatable, Sendable {
    let topic: String
    /// The app's token now.
    let token: [UInt8]
    /// UNIX seconds; 0 = was not to be stored.
    let expiration: UInt32
    /// 10, 5 or 1.
    let priority: UInt8
    /// Of the provider API; empty for one of the binary interface.
    var pushType = ""
    /// Of the provider API; empty: none.
    var collapseID: [UInt8] = []
    /// As the provider sent it: whether it is JSON is for the device to find out [talk].
    let payload: [UInt8]
}

/// The reason that the service does not do what a device asked for.
struct CourierRefusal: Error, Equatable, Sendable {
    /// The kind of refusal. Most are the last word on the connection, see ``isFinal``.
    enum Code: UInt8, CaseIterable, Sendable {
        /// A frame that breaks the rules.
        case malformed = 1
        /// The token is not this device's.
        case foreignToken = 2
        /// The token was this device's; the app has another one since. Register to get it.
        case outdatedToken = 3
        /// The device has no such app. Register to install it.
        case notInstalled = 4
        case unknownTopic = 5
        /// The certificate is not a device's, or there is no such device.
        case unknownDevice = 6
        /// A newer connection of the same device has taken its place.
        case replaced = 7
        /// No token was presented, or too many frames came before.
        case notPresented = 8
        /// Notifications were not read.
        case tooSlow = 9

        /// The refusal is the last word on the connection.
        var isFinal: Bool {
            switch self {
            case .outdatedToken, .notInstalled: false
            default: true
            }
        }
    }

    let code: Code
    /// For people.
    let text: String
}
