/// The mark of a device's certificate [ours]. Real devices have certificates of an authority of their own, whose shape
/// no source describes.
///
/// The mark is in the subject: an organizational unit that no provider's certificate has, and the device's number as
/// the common name. It carries no bundle ID, so the gateway refuses it as the courier refuses a provider's.
enum DeviceSubject {
    static let unit = "Belfry Device"
    private static let prefix = "device-"

    static func commonName(_ device: UInt32) -> String {
        "\(prefix)\(device)"
    }

    /// The number in a subject of ``commonName(_:)``'s form, or `nil`.
    static func device(unit: String?, commonName: String) -> UInt32? {
        guard unit == Self.unit, commonName.hasPrefix(prefix) else { return nil }
        guard let device = UInt32(commonName.dropFirst(prefix.count)) else { return nil }
        // "+7" and "007" are numbers too, but not in the form written here.
        return Self.commonName(device) == commonName ? device : nil
    }

    /// A file of this name could be taken for a device's certificate.
    static func isCommonName(_ text: String) -> Bool {
        device(unit: unit, commonName: text) != nil
    }
}
