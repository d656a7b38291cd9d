/// The time for which the push service stores a notification for a device that is offline.
public enum StorageTime {
    /// 30 days, also where a notification's expiration is later; and the service's default for one without. [later]
    public static let limit = Duration.seconds(30 * 86_400)
}
