/// The time for which the push service stores a notification for a device that is offline.
public enum StorageTime {
    /// 30 days, whatever a notification's expiration; also the service's default for one that has none. [later]
    public static let limit = Duration.seconds(30 * 86_400)
}
