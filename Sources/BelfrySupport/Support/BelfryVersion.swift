/// The version that `belfry --version`, the metric of the build and `/status` tell.
public enum BelfryVersion {
    public static let text = "0.1.0"
}
