/// The version that `belfry --version` and the clients of Kafka and Redis tell.
public enum BelfryVersion {
    public static let text = "0.1.0"
}
