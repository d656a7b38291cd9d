extension Gateway {
    /// Decides by other settings from now on; the topics have theirs already.
    func use(_ changed: ShardSettings) {
        settings = changed
        streams.settings = changed
        for lanes in all { lanes.transport.use(changed, lanes.topic.limits) }
    }
}
