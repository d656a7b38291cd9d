/// The settings of a shard as they are now, for what makes topics later.
///
/// Bound to the shard's event loop.
final class CurrentSettings {
    var settings: ShardSettings

    init(_ settings: ShardSettings) {
        self.settings = settings
    }
}
