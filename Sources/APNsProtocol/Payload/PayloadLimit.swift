/// The longest payload of each transport, in bytes, insignificant white space not counted.
public enum PayloadLimit {
    /// The binary interface [13].
    public static let binary2013 = 256
    /// The binary interface since iOS 8 [later].
    public static let binaryIOS8 = 2048
    /// The HTTP/2 provider API [later].
    public static let http2 = 4096
    /// The HTTP/2 provider API, for VoIP notifications [later].
    public static let voip = 5120
    /// The HTTP/2 provider API, for broadcasts [later].
    public static let broadcast = 5120
}
